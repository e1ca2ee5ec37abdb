"""What is said about the numbers."""

from mixnorm.paper import load_table
from mixnorm.paper.sentences import sentences
from mixnorm.paper.specs import Setup
from tests.paper.records import comparison

MIXED = load_table("cifar10-c-mixed-wrn28")
OWN = Setup(model="models.py:small", data="photos", limit=100)


def test_sentences_tell_other_data_and_misprints() -> None:
    text = "\n".join(sentences(comparison(MIXED, lambda cell: 40.0, OWN)))
    assert "Measured with models.py:small on photos, 100 images; published with wrn-28-10 on cifar10-c." in text
    assert "compare the order of the methods, not the numbers" in text
    assert "In the paper: The learnable MixNorm has one value for all batch sizes" in text
    assert "compare the order" not in "\n".join(sentences(comparison(MIXED, lambda cell: 40.0)))
