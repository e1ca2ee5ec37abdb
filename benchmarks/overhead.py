"""What adaptation costs, in multiples of the frozen model on the same rows: time, and peak memory of tensors.

    python benchmarks/overhead.py
    python benchmarks/overhead.py --models resnet56 --batch-sizes 8 --repeats 3 --sections table
    python benchmarks/overhead.py --sections compiled        # needs a C++ compiler

All columns of a line run in turn, and a ratio is the median of the ratios of the turns: what else the machine does
meets all of them. The real networks are read from the folder that MIXNORM_REAL names, by default ../shared/real, and
left out where it is absent. With `--records FOLDER` the methods also run on real images where these are there, and
their records are written for `mixnorm report FOLDER`, which draws error against cost.
"""

import argparse
import copy
import importlib.util
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

import mixnorm as mn
from mixnorm.benchmarks.models.wide_resnet import WideResNet
from mixnorm.evaluation import RunSpec, run, write_record

REAL = Path(os.environ.get("MIXNORM_REAL", Path(__file__).resolve().parents[2] / "shared" / "real"))
NETWORKS = {"wrn-40-2": 32, "resnet56": 32, "resnet50": 224}
"""The networks, and the side of the images they take."""
FACTORIES = {"resnet56": "cifar_resnet56", "resnet50": "imagenet_resnet50"}
SECTIONS = ("table", "operations", "growth", "streams", "learning", "kernels", "layouts", "floor", "compiled")
SHAPES = ((1, 16, 32, 32), (8, 16, 32, 32), (64, 16, 32, 32), (64, 64, 8, 8), (64, 64, 56, 56))
LAYOUTS: dict[str, tuple[type[nn.Module], tuple[int, ...], torch.memory_format]] = {
    "1d": (nn.BatchNorm1d, (64, 64, 1024), torch.contiguous_format),
    "2d": (nn.BatchNorm2d, (64, 64, 32, 32), torch.contiguous_format),
    "2d, small maps": (nn.BatchNorm2d, (64, 256, 8, 8), torch.contiguous_format),
    "2d, channels last": (nn.BatchNorm2d, (64, 64, 32, 32), torch.channels_last),
    "2d, small maps, channels last": (nn.BatchNorm2d, (64, 256, 8, 8), torch.channels_last),
    "3d": (nn.BatchNorm3d, (8, 64, 8, 32, 32), torch.contiguous_format),
    "3d, channels last": (nn.BatchNorm3d, (8, 64, 8, 32, 32), torch.channels_last_3d),
}
"""Layers by the dimensions and the order in memory of their features."""
HEADS = ("folded", "MixNorm", "MixNormBN", "ShrinkNorm", "BN", "TENT", "one by one")
"""What the table has beside the frozen model."""
FIXED: dict[str, mn.Method] = {
    "MixNorm": mn.MixNorm(m=0.2, views=0),
    "MixNormBN": mn.MixNormBN(m=0.2, views=0),
    "ShrinkNorm": mn.ShrinkNorm(),
    "BN": mn.BatchStatistics(),
}
"""The methods that learn nothing, in one forward pass."""
Work = Callable[[], object]


def network(name: str) -> nn.Module:
    """Make a network; the wide one has no weights, which cost nothing."""
    if name == "wrn-40-2":
        torch.manual_seed(0)
        return WideResNet(depth=40, width=2, classes=10).eval()
    spec = importlib.util.spec_from_file_location("real_models", REAL / "models.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"there is no {REAL / 'models.py'}")
    # The compiler looks the module up by its name.
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: nn.Module = getattr(module, FACTORIES[name])()
    return made


def folded(model: nn.Module) -> nn.Module:
    """Fold each BatchNorm into the convolution before it: the fastest that could run without adaptation."""
    from torch.fx.experimental.optimization import fuse

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fuse(model)


def images(name: str, count: int) -> Tensor:
    return torch.rand(count, 3, NETWORKS[name], NETWORKS[name], generator=torch.Generator().manual_seed(0))


def times(columns: dict[str, Work], repeats: int, *, keep_first: bool = False) -> dict[str, list[float]]:
    """Run all columns in turn, after one turn that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in columns}
    for turn in range(repeats + 1):
        for name, work in columns.items():
            start = time.perf_counter()
            work()
            if turn or keep_first:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: list[float], base: list[float]) -> float:
    return statistics.median(mine / other for mine, other in zip(seconds, base, strict=True))


def peak_bytes(work: Work) -> int:
    """Follow what torch allocates and frees: the most that tensors held at once, beyond what was there before.

    The work has been done before, so that what is made once is there.
    """
    with _quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        work()
    results: Any = profiler.profiler.kineto_results  # type: ignore[union-attr]
    events = sorted((event for event in results.events() if event.name() == "[memory]"), key=lambda one: one.start_ns())
    held = peak = 0
    for event in events:
        held += event.nbytes()
        peak = max(peak, held)
    return peak


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the profiler's own lines from between those of the tables."""
    null, kept = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(null)
        os.close(kept)


def without_gradients(work: Work) -> Work:
    def quiet() -> object:
        with torch.no_grad():
            return work()

    return quiet


def singles(model: nn.Module, batch: Tensor) -> None:
    for sample in batch.split(1):
        model(sample)


def columns(model: nn.Module, batch: Tensor, views: int, heads: Sequence[str]) -> dict[str, Work]:
    """Make the columns of a line; the frozen model runs on as many rows as the methods with views do."""
    rows, fold = torch.cat([batch] * (1 + views)), folded(model)
    mixnorm, one = (mn.adapt(model, mn.MixNorm(m=0.2, views=views)) for _ in range(2))
    mixnormbn = mn.adapt(model, mn.MixNormBN(m=0.2, views=views))
    shrinknorm = mn.adapt(model, mn.ShrinkNorm(views=views))
    made: dict[str, Work] = {
        "frozen": without_gradients(lambda: model(rows)),
        "folded": without_gradients(lambda: fold(rows)),
        "MixNorm": without_gradients(lambda: mixnorm(batch)),
        "MixNormBN": without_gradients(lambda: mixnormbn(batch)),
        "ShrinkNorm": without_gradients(lambda: shrinknorm(batch)),
    }
    if not views:
        bn, tent = mn.adapt(model, mn.BatchStatistics()), mn.adapt(model, mn.Tent())
        made |= {"BN": without_gradients(lambda: bn(batch)), "TENT": lambda: tent(batch)}
    made |= {"one by one": without_gradients(lambda: singles(one, batch))}
    return {head: work for head, work in made.items() if head in ("frozen", *heads)}


def table(names: Sequence[str], batch_sizes: Sequence[int], heads: Sequence[str], repeats: int) -> None:
    print("\nTime, and peak memory of tensors in brackets, in multiples of the frozen model on the same rows.\n")
    print(f"| network | views | batch | frozen | {' | '.join(heads)} |")
    print(f"|---|---:|---:|---:|{'---:|' * len(heads)}")
    for name in names:
        model = network(name)
        for views in (0, 1):
            for size in batch_sizes:
                works = columns(model, images(name, size), views, heads)
                seconds = times(works, repeats)
                peaks = {head: peak_bytes(work) for head, work in works.items()}
                cells = [_cell(head, seconds, peaks) if head in works else "" for head in heads]
                frozen = f"{1000 * statistics.median(seconds['frozen']):.1f} ms ({peaks['frozen'] / 2**20:.0f} MB)"
                print(f"| {name} | {views} | {size} | {frozen} | {' | '.join(cells)} |", flush=True)


def _cell(head: str, seconds: dict[str, list[float]], peaks: dict[str, int]) -> str:
    return f"{ratio(seconds[head], seconds['frozen']):.2f} ({peaks[head] / peaks['frozen']:.2f})"


def growth(name: str, repeats: int, *, compiled: bool) -> None:
    sizes = (16, 64, 256, 1024)
    model = network(name)
    adapted = mn.adapt(model, mn.MixNorm(m=0.2, views=0), compile=compiled)
    frozen = torch.compile(model) if compiled else model
    works: dict[str, Work] = {}
    for size in sizes:
        batch = images(name, size)
        # The same number of samples each time, so that a line is as long as another.
        works[str(size)] = without_gradients(lambda b=batch: [adapted(b) for _ in range(1024 // len(b))])  # type: ignore[misc]
        works[f"frozen {size}"] = without_gradients(lambda b=batch: [frozen(b) for _ in range(1024 // len(b))])  # type: ignore[misc]
    seconds = times(works, repeats)
    how = ", both compiled" if compiled else ""
    print(f"\nImages per second of MixNorm without views on {name}, and of the frozen model, by batch size{how}.\n")
    print("| batch | MixNorm | in multiples of batch 16 | frozen | in multiples of batch 16 |")
    print("|---:|---:|---:|---:|---:|")
    for size in sizes:
        cells = []
        for key, base in ((str(size), "16"), (f"frozen {size}", "frozen 16")):
            rate = 1024 / statistics.median(seconds[key])
            cells.append(f"{rate:.0f} | {ratio(seconds[base], seconds[key]):.2f}")
        print(f"| {size} | {' | '.join(cells)} |", flush=True)


def streams(name: str, repeats: int, size: int = 64) -> None:
    counts = (1, 8, 64, 1000)
    model, batch = network(name), images(name, size)
    works: dict[str, Work] = {}
    for count in counts:
        adapted = mn.adapt(model, mn.MixNorm(m=0.2, views=0))
        with torch.no_grad():
            for start in range(0, count, 50):
                adapted(batch[:1].expand(50, -1, -1, -1), streams=[f"camera {start + place}" for place in range(50)])
        # A batch has samples of as many streams as it can: 64 of the 1,000.
        names = [f"camera {place * count // max(size, count)}" for place in range(size)]
        works[str(count)] = without_gradients(lambda a=adapted, n=names: a(batch, streams=n))  # type: ignore[misc]
    seconds = times(works, repeats)
    print(f"\nTime of a batch of {size} on {name} by the number of streams, in multiples of one stream.\n")
    print("| streams | time |\n|---:|---:|")
    for count in counts:
        print(f"| {count} | {ratio(seconds[str(count)], seconds['1']):.2f} |", flush=True)


def plain_tent(model: nn.Module) -> Callable[[Tensor], Tensor]:
    """TENT as its authors wrote it: BatchNorm in training mode, and an optimiser over its parameters."""
    model = copy.deepcopy(model).train().requires_grad_(False)
    parameters: list[nn.Parameter] = []
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = None
            parameters += list(module.requires_grad_(True).parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-3)

    def answer(batch: Tensor) -> Tensor:
        logits: Tensor = model(batch)
        (-(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        return logits.detach()

    return answer


def learning(names: Sequence[str], repeats: int) -> None:
    print("\nTime and peak memory of learning methods at batch 64, in multiples of TENT in plain torch.\n")
    print("| network | TENT | MixNorm, learned, no view |\n|---|---:|---:|")
    for name in names:
        model, batch = network(name), images(name, 64)
        plain, tent = plain_tent(model), mn.adapt(model, mn.Tent())
        mixnorm = mn.adapt(model, mn.MixNorm(m=0.2, views=0, learn=mn.Entropy()))
        works: dict[str, Work] = {
            "frozen": lambda: plain(batch),  # noqa: B023 - run before the next network
            "TENT": lambda: tent(batch),  # noqa: B023
            "MixNorm": lambda: mixnorm(batch),  # noqa: B023
        }
        seconds = times(works, repeats)
        peaks = {head: peak_bytes(work) for head, work in works.items()}
        print(f"| {name} | {_cell('TENT', seconds, peaks)} | {_cell('MixNorm', seconds, peaks)} |", flush=True)


def compiled(names: Sequence[str], batch_sizes: Sequence[int], chosen: Sequence[str], repeats: int) -> None:
    """Time compiled models, each size after a first run of it, whose waiting is mostly compilation."""
    methods = {**FIXED, "MixNorm, one view": mn.MixNorm(m=0.2), "MixNormBN, one view": mn.MixNormBN()}
    heads = [head for head in methods if head.partition(",")[0] in chosen]
    print("\nCompiled: time in multiples of the compiled frozen model on the same rows.\n")
    print(f"| network | batch | frozen / eager | {' | '.join(heads)} | seconds to the first answers of these |")
    print(f"|---|---:|---:|{'---:|' * len(heads)}---:|")
    for name in names:
        torch.compiler.reset()
        model = network(name)
        fast, faster = torch.compile(model), torch.compile(copy.deepcopy(model))
        adapted = {head: mn.adapt(model, methods[head], compile=True) for head in heads}
        for size in sorted(batch_sizes, reverse=True):
            batch = images(name, size)
            rows = torch.cat([batch, batch])
            works: dict[str, Work] = {
                "eager": without_gradients(lambda: model(batch)),  # noqa: B023 - run before the next line
                "frozen": without_gradients(lambda: fast(batch)),  # noqa: B023
                "frozen, two": without_gradients(lambda: faster(rows)),  # noqa: B023
            }
            for head, one in adapted.items():
                works[head] = without_gradients(lambda one=one: one(batch))  # type: ignore[misc]  # noqa: B023
            waits = {head: sum(times({head: work}, 0, keep_first=True)[head]) for head, work in works.items()}
            seconds = times(works, repeats)
            bases = ["frozen, two" if "view" in head else "frozen" for head in heads]
            cells = [f"{ratio(seconds[head], seconds[base]):.2f}" for head, base in zip(heads, bases, strict=True)]
            print(
                f"| {name} | {size} | {ratio(seconds['frozen'], seconds['eager']):.2f} | {' | '.join(cells)} "
                f"| {', '.join(f'{waits[head]:.0f}' for head in ('frozen', *heads))} |",
                flush=True,
            )


class Counting(TorchDispatchMode):
    """Count what torch is asked to do."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return operation(*args, **(kwargs or {}))


def operations(batch_sizes: Sequence[int]) -> None:
    """Count the operations of one more layer, views of tensors included: what small batches are slow by."""
    print("\nTorch's operations in each layer, for a batch of one stream.\n")
    print(f"| batch | {' | '.join(FIXED)} |\n|---:|{'---:|' * len(FIXED)}")
    for size in batch_sizes:
        batch = torch.rand(size, 16, 8, 8)
        counts = [(_operations(20, method, batch) - _operations(10, method, batch)) / 10 for method in FIXED.values()]
        print(f"| {size} | {' | '.join(f'{count:.0f}' for count in counts)} |", flush=True)


@torch.no_grad()
def _operations(layers: int, method: mn.Method, batch: Tensor) -> int:
    adapted = mn.adapt(nn.Sequential(*(nn.BatchNorm2d(16) for _ in range(layers))).eval(), method)
    adapted(batch)
    with Counting() as counting:
        adapted(batch)
    return counting.count


def kernels(repeats: int) -> None:
    """Time ways to measure the statistics of each row, and to normalise with them, on maps of several sizes."""
    heads = ("group norm", "layer norm", "var_mean", "batch norm, training", "addcmul", "batch norm", "into spare")
    print("\nTime of kernels in multiples of the frozen BatchNorm: four that measure, three that normalise.\n")
    print(f"| rows x channels x positions | frozen | {' | '.join(heads)} |")
    print(f"|---|---:|{'---:|' * len(heads)}")
    for shape in SHAPES:
        seconds = times({head: without_gradients(work) for head, work in _kernels(shape).items()}, 5 * repeats)
        cells = [f"{ratio(seconds[head], seconds['frozen']):.2f}" for head in heads]
        frozen = f"{1e6 * statistics.median(seconds['frozen']):.0f} us"
        print(f"| {shape[0]} x {shape[1]} x {shape[2] * shape[3]} | {frozen} | {' | '.join(cells)} |", flush=True)


def _kernels(shape: tuple[int, int, int, int]) -> dict[str, Work]:
    x, spare, rows, channels = torch.rand(shape), torch.rand(shape), *shape[:2]
    flat, maps, positions = x.view(1, rows * channels, *shape[2:]), rows * channels, shape[2] * shape[3]
    weight, mean, var = torch.rand(3, maps).unbind()
    each = (rows, channels, 1, 1)
    nothing = torch.empty(0)
    into = torch.ops.aten.native_batch_norm.out
    plain = (False, 0.0, 1e-5)
    return {
        "frozen": lambda: torch.batch_norm(
            x, weight[:channels], mean[:channels], mean[:channels], var[:channels], *plain, False
        ),
        "group norm": lambda: torch.native_group_norm(x, None, None, rows, channels, positions, channels, 0.0),
        "layer norm": lambda: torch.native_layer_norm(x.view(maps, positions), (positions,), None, None, 0.0),
        "var_mean": lambda: torch.var_mean(x, (2, 3), correction=0),
        "batch norm, training": lambda: torch.batch_norm(flat, None, None, None, None, True, 0.0, 1e-5, False),
        "addcmul": lambda: torch.addcmul(mean.view(each), x, var.view(each)),
        "batch norm": lambda: torch.batch_norm(flat, weight, mean, mean, var, *plain, False),
        "into spare": lambda: into(
            flat, weight, mean, mean, var, *plain, out=spare.view(flat.shape), save_mean=nothing, save_invstd=nothing
        ),
    }


def layouts(repeats: int) -> None:
    """Time single layers for features of all dimensions and orders in memory."""
    print("\nTime of a single layer in multiples of the frozen BatchNorm on the same features.\n")
    print("| layer | features | frozen | MixNorm | MixNormBN |\n|---|---|---:|---:|---:|")
    for name, (kind, shape, order) in LAYOUTS.items():
        layer, x = kind(shape[1]).eval(), torch.rand(shape).contiguous(memory_format=order)
        methods = {"MixNorm": mn.MixNorm(m=0.2, views=0), "MixNormBN": mn.MixNormBN(m=0.2, views=0)}
        works: dict[str, Work] = {"frozen": without_gradients(lambda: layer(x))}  # noqa: B023 - run before the next
        for head, method in methods.items():
            adapted = mn.replace_batchnorm_(copy.deepcopy(layer), method)
            works[head] = without_gradients(lambda a=adapted: a(x))  # type: ignore[misc]  # noqa: B023
        seconds = times(works, 5 * repeats)
        cells = [f"{ratio(seconds[head], seconds['frozen']):.2f}" for head in methods]
        frozen = f"{1e6 * statistics.median(seconds['frozen']):.0f} us"
        print(f"| {name} | {' x '.join(map(str, shape))} | {frozen} | {' | '.join(cells)} |", flush=True)


def floor(names: Sequence[str], batch_sizes: Sequence[int], repeats: int) -> None:
    """Say what moving feature maps through memory costs at least, by copying as many as a model normalises.

    A frozen layer reads a map and writes one. Statistics need one more reading, half of a copy; torch's kernel for them
    also writes a map of its own, for which it reads again: one and a half copies.
    """
    print("\nCost of moving feature maps, in multiples of the frozen model, without views.\n")
    print("| network | batch | frozen | maps | copied at | one more reading | as torch's kernels do it | MixNorm |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in names:
        model = network(name)
        for size in batch_sizes:
            batch, adapted = images(name, size), mn.adapt(model, mn.MixNorm(m=0.2, views=0))
            maps = normalised_maps(model, batch)
            pairs = {count: (torch.rand(count), torch.empty(count)) for count in set(maps)}
            works: dict[str, Work] = {
                "frozen": without_gradients(lambda: model(batch)),  # noqa: B023 - run before the next line
                "copies": lambda: [pairs[count][1].copy_(pairs[count][0]) for count in maps],  # noqa: B023
                "MixNorm": without_gradients(lambda: adapted(batch)),  # noqa: B023
            }
            seconds = times(works, repeats)
            copies, size_of = ratio(seconds["copies"], seconds["frozen"]), 4 * sum(maps)
            print(
                f"| {name} | {size} | {1000 * statistics.median(seconds['frozen']):.1f} ms | {size_of / 2**20:.0f} MB "
                f"| {2 * size_of / statistics.median(seconds['copies']) / 1e9:.1f} GB/s "
                f"| {1 + copies / 2:.2f} | {1 + 1.5 * copies:.2f} "
                f"| {ratio(seconds['MixNorm'], seconds['frozen']):.2f} |",
                flush=True,
            )


def normalised_maps(model: nn.Module, batch: Tensor) -> list[int]:
    """Count the values that go through each BatchNorm."""
    counts: list[int] = []
    layers = [module for module in model.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    hooks = [layer.register_forward_hook(lambda _layer, _args, y: counts.append(y.numel())) for layer in layers]
    with torch.no_grad():
        model(batch)
    for hook in hooks:
        hook.remove()
    return counts


def records(folder: Path, batch_sizes: Sequence[int], limit: int, threads: int) -> None:
    """Run the methods on real corrupted images, for the report to draw error against cost."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {"name": str(REAL / "cifar10c_mixed_severity5.npz"), "limit": limit}
    methods: list[mn.Method] = [
        mn.Source(), mn.BatchStatistics(), mn.Tent(), mn.MixNorm(m=0.2, views=0), mn.MixNorm(m=0.2), mn.MixNormBN(m=0.2)
    ]  # fmt: skip
    for method in methods:
        for size in batch_sizes:
            spec = RunSpec(
                model=f"{REAL / 'models.py'}:cifar_resnet56",
                data=data,
                protocol=mn.Protocol(batch_size=size),
                method=method.to_dict(),
                threads=threads,
            )
            print(write_record(run(spec), folder), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=tuple(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--columns", nargs="+", choices=HEADS, default=list(HEADS), help="of the tables (default: all)")
    parser.add_argument("--repeats", type=int, default=5, help="turns of which the median counts (default: 5)")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS[:-1]))
    parser.add_argument("--compile", action="store_true", help="compile the models of the section growth")
    parser.add_argument("--records", type=Path, help="a folder for records of runs on real images")
    parser.add_argument("--limit", type=int, default=512, help="images of each such run (default: 512)")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    names = [name for name in args.models if name not in FACTORIES or (REAL / "models.py").exists()]
    print(f"{platform.machine()}, {os.cpu_count()} cores, {args.threads} threads, torch {torch.__version__}")
    sections: dict[str, Work] = {
        "table": lambda: table(names, args.batch_sizes, args.columns, args.repeats),
        "operations": lambda: operations(args.batch_sizes),
        "growth": lambda: growth(names[0], args.repeats, compiled=args.compile),
        "streams": lambda: streams(names[0], args.repeats),
        "learning": lambda: learning(names, args.repeats),
        "kernels": lambda: kernels(args.repeats),
        "layouts": lambda: layouts(args.repeats),
        "floor": lambda: floor(names, args.batch_sizes, args.repeats),
        "compiled": lambda: compiled(names, args.batch_sizes, args.columns, args.repeats),
    }
    for section in SECTIONS:
        if section in args.sections:
            sections[section]()
    if args.records is not None and (REAL / "models.py").exists():
        records(args.records, args.batch_sizes, args.limit, args.threads)


if __name__ == "__main__":
    main()
