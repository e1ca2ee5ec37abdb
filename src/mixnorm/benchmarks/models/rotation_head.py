"""The head that TTT needs: it tells by how many quarter turns an image was rotated."""

from torch import nn

QUARTER_TURNS = 4


def rotation_head(features: int) -> nn.Linear:
    """Make the head for a network whose classifier sees so many features.

    It is trained beside the classifier and takes no part in the network's answers. A network holds it as
    `rotation_head`, before its classifier, so that the last linear layer is still the classifier.
    """
    return nn.Linear(features, QUARTER_TURNS)
