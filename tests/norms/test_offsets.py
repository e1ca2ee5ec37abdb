import torch

from mixnorm.norms.offsets import Source, all_moments


def sources(*channels: int) -> list[Source]:
    torch.manual_seed(0)
    return [
        Source.of(torch.randn(own), torch.rand(own) + 0.5, 1e-5, 0.1 * own, 0.2 * own, positions=16 * own)
        for own in channels
    ]


def test_moments_of_all_layers_at_once_are_those_of_each() -> None:
    layers = sources(3, 1, 5)
    rows_2BN = torch.stack([torch.randn(4, 9), torch.rand(4, 9) + 0.1])
    each = []
    for source, own_2BC in zip(layers, rows_2BN.split_with_sizes([3, 1, 5], dim=2), strict=True):
        shown_2BC = source.shown(own_2BC)
        each.append(source.moments(source.offsets(shown_2BC), shown_2BC[1]))
    torch.testing.assert_close(all_moments(rows_2BN, layers), torch.cat(each, dim=2))


def test_moments_are_offsets_their_squares_ratios_and_counts() -> None:
    (source,) = sources(2)
    shown_211 = torch.tensor([[[3.0, 1.0]], [[2.0, 0.5]]])
    offset_211 = source.offsets(shown_211)
    mean, log = source.moments(offset_211, shown_211[1]).flatten(1)
    torch.testing.assert_close(mean, torch.tensor([3.0, 1.0, 9.0, 1.0, 5.0, 1.0]))
    of_log = (torch.tensor([2.0, 0.5]).log() / 0.4**0.5).tolist()
    square = sum(each**2 for each in of_log) / 2
    torch.testing.assert_close(log, torch.tensor([*of_log, 2.0, 0.5, square, 32.0]))


def test_statistics_are_what_shows_them() -> None:
    (source,) = sources(4)
    rows = torch.randn(3, 4), torch.rand(3, 4) + 0.1
    torch.testing.assert_close(source.statistics(source.shown(torch.stack(rows))), rows)
