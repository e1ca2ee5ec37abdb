import pytest

import mixnorm as mn
from mixnorm.errors import MixNormError
from mixnorm.evaluation import method_from_text

SGD = mn.Steps(optimizer="sgd", lr=0.01)


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("tent", mn.Tent()),
        ("BATCHSTATISTICS", mn.BatchStatistics()),
        ("MixNorm:", mn.MixNorm()),
        ("MixNormBN:cifar10-c/mixed", mn.MixNormBN.preset("cifar10-c/mixed")),
        ("MixNorm:m=0.3,tau=0,views=0", mn.MixNorm(m=0.3, tau=0, views=0)),
        ("MixNorm:learn.lr=0.1,learn.optimizer=sgd", mn.MixNorm(learn=mn.Entropy(optimizer="sgd", lr=0.1))),
        ("MixNorm:learn=null", mn.MixNorm()),
        ("shot:digits", mn.Shot.preset("digits")),
        ("Shot:head=fc,beta=0.1", mn.Shot(head="fc", beta=0.1)),
        ("TTT", mn.Ttt()),
        ("Ttt:parameters=features,learn.lr=0.01", mn.Ttt(parameters="features", learn=SGD)),
    ],
)
def test_text_names_a_method(text: str, method: mn.Method) -> None:
    assert method_from_text(text) == method


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MixNrm", "unknown method 'MixNrm'; did you mean 'MixNorm'"),
        ("MixNorm:cifar10-c/mixd", "unknown preset of MixNorm 'cifar10-c/mixd'; did you mean 'cifar10-c/mixed'"),
        ("MixNorm:m=0.2,views", "'views' is not SETTING=VALUE"),
        ("MixNorm:m=much", "m must be a number from 0 to 1, got 'much'"),
        ("MixNorm:n=1", "unknown setting of MixNorm 'n'"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(MixNormError, match=message):
        method_from_text(text)
