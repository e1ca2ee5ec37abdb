"""The official source of each data set as data, and where its files belong below the data folder.

Checksums are the ones that the hosts publish (Zenodo, the CIFAR page) or that torchvision's loaders state. Sizes in
bytes are given where they are known. `by_hand` says why a file cannot be fetched by a program.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file to fetch: where from, its checksum, and the path below the data folder that is there afterwards.

    An archive is unpacked in `unpack_in`; without that the file itself is the result.
    """

    url: str
    makes: str
    unpack_in: str | None = None
    md5: str | None = None
    size: int | None = None
    by_hand: str | None = None

    def describe(self) -> str:
        """Say in one phrase what to fetch."""
        size = f", {self.size:,} bytes" if self.size else ""
        return f"{self.url} (md5 {self.md5 or 'not published'}{size})"


def _imagenet_c(family: str, last_corruption: str, md5: str, size: int) -> Source:
    # Entries of an archive appear in the order of their names, so the last one stands for all of them.
    return Source(
        url=f"https://zenodo.org/records/2235448/files/{family}.tar",
        makes=f"ImageNet-C/{last_corruption}",
        unpack_in="ImageNet-C",
        md5=md5,
        size=size,
    )


def _mnist(file: str, md5: str) -> Source:
    return Source(url=f"https://ossci-datasets.s3.amazonaws.com/mnist/{file}", makes=f"mnist/{file}", md5=md5)


def _svhn(file: str, md5: str) -> Source:
    return Source(url=f"https://ufldl.stanford.edu/housenumbers/{file}", makes=f"svhn/{file}", md5=md5)


def _usps(file: str, md5: str) -> Source:
    folder = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
    return Source(url=f"{folder}/{file}", makes=f"usps/{file}", md5=md5)


def _cars(file: str, makes: str, md5: str) -> Source:
    return Source(
        url=f"https://ai.stanford.edu/~jkrause/car196/{file}",
        makes=f"stanford_cars/{makes}",
        unpack_in="stanford_cars" if file.endswith(".tgz") else None,
        md5=md5,
        by_hand="its official page is gone; find a copy with this checksum",
    )


SOURCES: dict[str, tuple[Source, ...]] = {
    "cifar10": (
        Source(
            url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            makes="cifar-10-batches-bin",
            unpack_in="",
            md5="c32a1d4ab5d03f1284b67883e8d87530",
            size=170_052_171,
        ),
    ),
    "cifar10-c": (
        Source(
            url="https://zenodo.org/records/2535967/files/CIFAR-10-C.tar",
            makes="CIFAR-10-C",
            unpack_in="",
            md5="56bf5dcef84df0e2308c6dcbcbbd8499",
            size=2_918_471_680,
        ),
    ),
    "cifar100": (
        Source(
            url="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
            makes="cifar-100-binary",
            unpack_in="",
            md5="03b5dce01913d631647c71ecec9e9cb8",
            size=168_513_733,
        ),
    ),
    "cifar100-c": (
        Source(
            url="https://zenodo.org/records/3555552/files/CIFAR-100-C.tar",
            makes="CIFAR-100-C",
            unpack_in="",
            md5="11f0ed0f1191edbf9fa23466ae6021d3",
            size=2_918_473_216,
        ),
    ),
    "food101": (
        Source(
            url="https://data.vision.ee.ethz.ch/cvl/food-101.tar.gz",
            makes="food-101",
            unpack_in="",
            md5="85eeb15f3717b99a5da872d97d918f87",
        ),
    ),
    "imagenet": (
        Source(
            url="https://image-net.org/challenges/LSVRC/2012/2012-downloads.php",
            makes="imagenet/val",
            md5="29b22e2961454d5413ddabcf34fc5622",
            by_hand="it needs an account; sort the files of ILSVRC2012_img_val.tar into 1,000 class folders",
        ),
    ),
    "imagenet-c": (
        _imagenet_c("noise", "shot_noise", "e80562d7f6c3f8834afb1ecf27252745", 22_565_673_785),
        _imagenet_c("blur", "zoom_blur", "2d8e81fdd8e07fef67b9334fa635e45c", 7_112_704_951),
        _imagenet_c("weather", "snow", "33ffea4db4d93fe4a428c40a6ce0c25d", 12_797_438_995),
        _imagenet_c("digital", "pixelate", "89157860d7b10d5797849337ca2e5c03", 7_757_510_705),
    ),
    "mnist": (
        _mnist("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        _mnist("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
        _mnist("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        _mnist("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
    ),
    "mnist-m": (
        Source(
            url="http://yaroslav.ganin.net/",
            makes="mnist_m",
            by_hand="its author shares mnist_m.tar.gz, the unpacked version, through a page meant for browsers",
        ),
    ),
    "stanford-cars": (
        _cars("car_devkit.tgz", "devkit", "c3b158d763b6e2245038c8ad08e45376"),
        _cars("cars_train.tgz", "cars_train", "065e5b463ae28d29e77c1b4b166cfe61"),
        _cars("cars_test.tgz", "cars_test", "4ce7ebf6a94d07f1952d94dd34c4d501"),
        _cars("cars_test_annos_withlabels.mat", "cars_test_annos_withlabels.mat", "b0a2b23655a3edd16d84508592a98d10"),
    ),
    "stl10": (
        Source(
            url="https://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
            makes="stl10_binary",
            unpack_in="",
            md5="91f7769df0f17e558f3565bffb0c7dfb",
        ),
    ),
    "svhn": (
        _svhn("test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"),
        _svhn("train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"),
    ),
    "usps": (
        _usps("usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118"),
        _usps("usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197"),
    ),
}
