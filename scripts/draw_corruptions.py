"""Draw the contact sheets of all corruptions at all severities beside the clean picture, a scene drawn here.

python scripts/draw_corruptions.py docs/images
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, SEVERITIES, corrupt
from mixnorm.benchmarks.corruptions.plasma import plasma

Bytes = npt.NDArray[np.uint8]
CANVAS = 896
LABELS = 120
GAP = 4


def scene(side: int) -> Bytes:
    """Draw a house with a tree under a sky, with some texture, at any size."""
    relief = plasma(np.random.default_rng(1).uniform(-1, 1, (1, 1024, 1024)).astype(np.float32), 1.3)[
        0, :CANVAS, :CANVAS, None
    ]
    height = np.linspace(0, 1, CANVAS)[:, None, None]
    sky = (1 - height) * np.array([70, 130, 220]) + height * np.array([225, 235, 245])
    picture = Image.fromarray(np.clip(sky + 60 * (relief - 0.4), 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    draw.ellipse((650, 60, 800, 210), fill=(255, 225, 90))
    draw.ellipse((-300, 560, 1200, 1500), fill=(80, 150, 60))
    draw.rectangle((180, 420, 520, 740), fill=(215, 190, 150))
    draw.polygon([(140, 430), (350, 230), (560, 430)], fill=(175, 55, 45))
    draw.rectangle((310, 590, 400, 740), fill=(90, 55, 35))
    for left in (220, 430):
        draw.rectangle((left, 480, left + 60, 550), fill=(40, 60, 90))
    draw.rectangle((690, 500, 730, 760), fill=(95, 65, 40))
    draw.ellipse((590, 310, 830, 580), fill=(35, 100, 45))
    textured = np.asarray(picture) * (0.75 + 0.5 * relief)
    return np.asarray(
        Image.fromarray(np.clip(textured, 0, 255).astype(np.uint8)).resize((side, side), Image.Resampling.BOX)
    )


def sheet(side: int, shown: int) -> Image.Image:
    """Put the clean picture and its five severities of every corruption into rows, each picture `shown` pixels wide."""
    clean = scene(side)
    names = CORRUPTIONS + EXTRA_CORRUPTIONS
    step = shown + GAP
    page = Image.new("RGB", (LABELS + (len(SEVERITIES) + 1) * step, len(names) * step + 20), "white")
    draw = ImageDraw.Draw(page)
    for column, title in enumerate(("clean", *map(str, SEVERITIES))):
        draw.text((LABELS + column * step + 2, 4), title, fill="black")
    for row, name in enumerate(names):
        draw.text((4, 20 + row * step + shown // 2 - 6), name, fill="black")
        pictures = [clean, *(corrupt(clean[None], name, severity)[0] for severity in SEVERITIES)]
        for column, pixels in enumerate(pictures):
            tile = Image.fromarray(pixels).resize((shown, shown), Image.Resampling.NEAREST)
            page.paste(tile, (LABELS + column * step, 20 + row * step))
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where corruptions.png (32 px) and corruptions_large.jpg go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    sheet(32, 96).save(folder / "corruptions.png", optimize=True)
    sheet(112, 112).save(folder / "corruptions_large.jpg", quality=75, optimize=True)
    print(f"drew {folder / 'corruptions.png'} and {folder / 'corruptions_large.jpg'}")


if __name__ == "__main__":
    main()
