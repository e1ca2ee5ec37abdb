"""Train the `digits` source model that the package ships: `python scripts/train_digits.py --output DIR`.

A plain training on scikit-learn's handwritten digits with small random shifts and no corruption, so that corrupted
digits are as new to the model as drifted images are to a deployed one. The rotation head that TTT needs is trained
jointly. It writes `digits.safetensors` and the record of the training, `digits.json`.
"""

import argparse
from pathlib import Path

from training import Training, bytes_of, contents, described, errors, start, train, write

from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.benchmarks.models import find_model


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the digits model that the package ships.")
    parser.add_argument("--output", type=Path, required=True, help="folder for digits.safetensors and digits.json")
    parser.add_argument("--epochs", type=int, default=Training.epochs, help="how often each image is seen")
    arguments = parser.parse_args()
    settings = Training(epochs=arguments.epochs)
    data = {split: load_dataset("digits", split=split) for split in ("train", "test")}
    start(settings)
    model = train(find_model("digits").build(), *bytes_of(data["train"]), settings)
    error, rotation_error = errors(model, *bytes_of(data["test"]))
    made = {
        "made_by": "scripts/train_digits.py",
        "network": "WideResNet(depth=16, width=1, classes=10, rotations=True), input mean 0.5, std 0.5",
        **described(model, settings),
        "data": contents(data.items()),
        "clean_test_error": error,
        "clean_train_error": errors(model, *bytes_of(data["train"]))[0],
        "rotation_test_error": rotation_error,
    }
    write(arguments.output, "digits", model, made)
    print(f"error on clean test digits: {error:.2%}, of the rotation head {rotation_error:.2%}")


if __name__ == "__main__":
    main()
