import numpy as np
from sklearn.datasets import load_digits

from mixnorm.benchmarks.datasets import load_dataset


def test_the_splits_share_no_image_and_cover_all() -> None:
    train, test = load_dataset("digits", split="train"), load_dataset("digits", split="test")
    assert (len(train), len(test)) == (1197, 600)
    np.testing.assert_array_equal(np.concatenate([train.labels, test.labels]), load_digits().target)
    assert np.bincount(test.labels).min() >= 56


def test_images_are_the_digits_upscaled() -> None:
    dataset = load_dataset("digits", split="train")
    images = dataset.images(range(50))
    assert images.shape == (50, 32, 32, 3)
    assert (images[..., 0] == images[..., 2]).all()
    # The mean over the four middle pixels of each 4 x 4 block is near the level it stands for.
    blocks = images[..., 0].reshape(50, 8, 4, 8, 4)[:, :, 1:3, :, 1:3].mean(axis=(2, 4))
    levels = load_digits().images[:50] * 255 / 16
    assert np.corrcoef(blocks.ravel(), levels.ravel())[0, 1] > 0.99


def test_the_content_is_pinned() -> None:
    # Weights that were trained on these images are shipped; a change here must be a decision.
    assert load_dataset("digits", split="train").fingerprint()[:16] == "9171dae9aab2de2a"
    assert load_dataset("digits").fingerprint()[:16] == "f0e7dc93c96f8ddc"
