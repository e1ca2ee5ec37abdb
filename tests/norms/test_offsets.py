import torch

from mixnorm.norms.offsets import Source, all_moments


def sources(*channels: int) -> list[Source]:
    torch.manual_seed(0)
    return [
        Source.of(torch.randn(own), torch.rand(own) + 0.5, 1e-5, 0.1 * own, 0.2 * own, positions=16 * own)
        for own in channels
    ]


def test_moments_are_offsets_their_squares_ratios_and_counts() -> None:
    layers = sources(3, 1)
    rows_2BN = torch.stack([torch.randn(5, 4), torch.rand(5, 4) + 0.1])
    found = all_moments(rows_2BN, layers).split_with_sizes([8, 4], dim=2)
    for source, own_2BC, moments in zip(layers, rows_2BN.split_with_sizes([3, 1], dim=2), found, strict=True):
        channels = own_2BC.shape[2]
        mean, ratio = source.shown(own_2BC)
        log = ratio.log() / (0.2 * channels) ** 0.5
        count = torch.ones(5, 1)
        of_mean = torch.cat([mean, mean.square(), mean.square().mean(1, keepdim=True), count], dim=1)
        of_log = torch.cat([log, ratio, log.square().mean(1, keepdim=True), 16 * channels * count], dim=1)
        torch.testing.assert_close(moments, torch.stack([of_mean, of_log]))


def test_sizes_are_in_units_of_content() -> None:
    (source,) = sources(4)
    shown_2RC = source.shown(torch.stack([torch.randn(3, 4), torch.rand(3, 4) + 0.1]))
    of_mean, of_log = source.sizes(source.offsets(shown_2RC).square())
    torch.testing.assert_close(of_mean[:, 0], shown_2RC[0].square().mean(1))
    torch.testing.assert_close(of_log[:, 0], shown_2RC[1].log().square().mean(1) / 0.8)


def test_statistics_are_what_shows_them() -> None:
    (source,) = sources(4)
    rows = torch.randn(3, 4), torch.rand(3, 4) + 0.1
    torch.testing.assert_close(source.statistics(source.shown(torch.stack(rows))), rows)
