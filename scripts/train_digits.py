"""Train the `digits` source model that the package ships: `python scripts/train_digits.py --output DIR`.

A plain training on scikit-learn's handwritten digits with small random shifts and no corruption, so that corrupted
digits are as new to the model as drifted images are to a deployed one. Then the rotation head that TTT needs is trained
on the features of the finished network, which stays as it is. It writes `digits.safetensors` and the record of the
training, `digits.json`.
"""

import argparse
from pathlib import Path

from training import Training, bytes_of, contents, described, errors, start, train, train_rotation_head, write

from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.benchmarks.models import find_model

RECIPE = (
    "SGD with Nesterov momentum, cosine schedule by epoch, random shifts, no corruption, last epoch kept; then the "
    "rotation head alone by SGD, on the features of images after a random number of quarter turns, normalised with the "
    "statistics of their batch"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the digits model that the package ships.")
    parser.add_argument("--output", type=Path, required=True, help="folder for digits.safetensors and digits.json")
    parser.add_argument("--epochs", type=int, default=Training.epochs, help="how often each image is seen")
    arguments = parser.parse_args()
    network = Training(epochs=arguments.epochs, rotation_weight=0, decay="epoch")
    head = Training(seed=1, epochs=max(1, arguments.epochs // 2), batch_size=64, decay="epoch")
    data = {split: load_dataset("digits", split=split) for split in ("train", "test")}
    training = bytes_of(data["train"])
    start(network)
    model = train(find_model("digits").build(), *training, network)
    start(head)
    train_rotation_head(model, *training, head)
    error, rotation_error = errors(model, *bytes_of(data["test"]))
    made = {
        "made_by": "scripts/train_digits.py",
        "network": "WideResNet(depth=16, width=1, classes=10, rotations=True), input mean 0.5, std 0.5",
        **described(model, network, head),
        "recipe": RECIPE,
        "data": contents(data.items()),
        "clean_test_error": error,
        "clean_train_error": errors(model, *training)[0],
        "rotation_test_error": rotation_error,
    }
    write(arguments.output, "digits", model, made)
    print(f"error on clean test digits: {error:.2%}, of the rotation head {rotation_error:.2%}")


if __name__ == "__main__":
    main()
