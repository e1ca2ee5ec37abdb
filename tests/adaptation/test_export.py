"""A baked model is an ordinary one: it leaves torch as any other does."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mixnorm.adaptation import MixNorm, adapt
from mixnorm.adaptation.sample_models import SAMPLE_MODELS

ANY_BATCH = ({0: torch.export.Dim("batch", min=2)},)


def baked() -> tuple[nn.Module, Tensor]:
    sample = SAMPLE_MODELS[0]
    adapted = adapt(sample.model(), MixNorm(m=0.2, tau=0.1, views=0))
    batches = sample.batches(3, 6)
    for batch in batches:
        adapted(batch)
    return adapted.bake().eval(), batches[0]


def test_a_baked_model_is_exported() -> None:
    model, batch = baked()
    program = torch.export.export(model, (batch,), dynamic_shapes=ANY_BATCH)
    for size in (6, 3):
        torch.testing.assert_close(program.module()(batch[:size]), model(batch[:size]))


def test_a_baked_model_has_the_adapted_statistics_when_exported() -> None:
    model, batch = baked()
    program = torch.export.export(model, (batch,))
    source = SAMPLE_MODELS[0].model()
    assert not torch.allclose(program.module()(batch), source(batch), atol=1e-3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_a_baked_model_runs_in_onnxruntime(tmp_path: Path) -> None:
    onnxruntime: Any = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    model, batch = baked()
    path = tmp_path / "model.onnx"
    torch.onnx.export(model, (batch,), path, dynamo=True, dynamic_shapes=ANY_BATCH, verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    for size in (6, 3):
        (answer,) = session.run(None, {name: batch[:size].numpy()})
        torch.testing.assert_close(torch.from_numpy(answer), model(batch[:size]).detach(), rtol=1e-4, atol=1e-5)
