"""transformers: small random networks of many architectures; what is read of them gives
the network's own logits.

Every gain, bias and buffer is random, so that one that is missed, doubled or taken for
another shows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from peers.trained import installed

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import load, read

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    installed("transformers") is None, reason="not installed"
)
TOKENS = 53
SMALL = {
    **dict.fromkeys(("vocab_size",), TOKENS),
    **dict.fromkeys(
        (
            "hidden_size",
            "d_model",
            "n_embd",
            "embedding_size",
            "dim",
            "word_embed_proj_dim",
            "attention_hidden_size",
        ),
        16,
    ),
    **dict.fromkeys(
        (
            "intermediate_size",
            "d_ff",
            "ffn_dim",
            "encoder_ffn_dim",
            "decoder_ffn_dim",
            "hidden_dim",
        ),
        32,
    ),
    **dict.fromkeys(
        (
            "num_hidden_layers",
            "n_layer",
            "num_layers",
            "n_layers",
            "encoder_layers",
            "decoder_layers",
        ),
        2,
    ),
    **dict.fromkeys(
        (
            "num_attention_heads",
            "n_head",
            "num_heads",
            "n_heads",
            "encoder_attention_heads",
            "decoder_attention_heads",
            "head_dim",
            "d_kv",
            "rotary_dim",
            "state_size",
            "time_step_rank",
        ),
        4,
    ),
    **dict.fromkeys(
        (
            "num_key_value_heads",
            "num_local_experts",
            "num_experts",
            "conv_kernel",
            "expand",
        ),
        2,
    ),
    **dict.fromkeys(("n_positions", "max_position_embeddings"), 64),
    "num_experts_per_tok": 1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "sliding_window": 8,
    "decoder_start_token_id": 1,
}
CAUSAL = [
    "biogpt",
    "bloom",
    "codegen",
    "cohere",
    "cohere2",
    "ernie4_5",
    "falcon",
    "falcon_mamba",
    "gemma",
    "gemma2",
    "gemma3_text",
    "glm",
    "gpt2",
    "gpt_bigcode",
    "gpt_neox",
    "gpt_oss",
    "gptj",
    "granite",
    "helium",
    "llama",
    "mamba",
    "mistral",
    "mixtral",
    "mpt",
    "nemotron",
    "olmo2",
    "opt",
    "persimmon",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "rwkv",
    "smollm3",
    "stablelm",
    "starcoder2",
    "xglm",
]
MASKED = [
    "albert",
    "bert",
    "camembert",
    "deberta-v2",
    "distilbert",
    "electra",
    "modernbert",
    "mpnet",
    "roberta",
    "xlm-roberta",
]
TRANSLATING = [
    "bart",
    "blenderbot",
    "blenderbot-small",
    "led",
    "longt5",
    "m2m_100",
    "marian",
    "mbart",
    "mt5",
    "mvp",
    "nllb-moe",
    "pegasus",
    "pegasus_x",
    "plbart",
    "switch_transformers",
    "t5",
    "umt5",
]


def each(column: str) -> Any:
    kinds = {"CausalLM": CAUSAL, "MaskedLM": MASKED, "Seq2SeqLM": TRANSLATING}
    marked = [
        pytest.param(
            (name, kind),
            id=name,
            marks=pytest.mark.holds(column, library="transformers", model=name),
        )
        for kind, names in kinds.items()
        for name in names
    ]
    return pytest.mark.parametrize("network", marked, indirect=True)


def small(transformers: Any, name: str, **more: Any) -> Any:
    """Return the configuration of a small network."""
    known = transformers.AutoConfig.for_model(name)
    keys = {*known.to_dict(), *getattr(known, "attribute_map", {})}
    return transformers.AutoConfig.for_model(
        name, **{key: x for key, x in SMALL.items() if key in keys}, **more
    )


class Network:
    """A network, its logits for some tokens, and the states that reach its layers and
    its head.
    """

    def __init__(self, name: str, kind: str) -> None:
        import torch
        import transformers

        config = small(transformers, name)
        torch.manual_seed(0)
        self.name, self.live = (
            name,
            getattr(transformers, f"AutoModelFor{kind}").from_config(config).eval(),
        )
        self.states: dict[str, Any] = {}
        with torch.no_grad():
            for parameter in self.live.parameters():
                parameter.copy_(
                    0.4 * torch.randn_like(parameter) + 0.6 * (parameter.ndim == 1)
                )
            for label, buffer in self.live.named_buffers():
                if label == "final_logits_bias":
                    buffer.copy_(torch.randn_like(buffer))
            for label, layer in self.live.named_modules():
                layer.register_forward_pre_hook(self._kept(label))
            tokens = torch.randint(3, TOKENS, (2, 6))
            more = {"decoder_input_ids": tokens} if kind == "Seq2SeqLM" else {}
            outputs = self.live(input_ids=tokens, **more, output_hidden_states=True)
            self.logits = rows(outputs.logits)
            last = "decoder_hidden_states" if more else "hidden_states"
            self.last_states = rows(outputs[last][-1])

    def _kept(self, label: str) -> Any:
        def keep(_: Any, inputs: Any) -> None:
            if inputs and hasattr(inputs[0], "detach"):
                self.states[label] = inputs[0].detach()

        return keep

    def before(self, layer: Any) -> Any:
        """Return what reaches a layer."""
        names = {id(module): name for name, module in self.live.named_modules()}
        return rows(self.states[names[id(layer)]])

    def layer_with(self, gain: Any) -> Any:
        """Find the layer that has some gains, as they are stored."""
        found = [
            module
            for module in self.live.modules()
            if getattr(getattr(module, "weight", None), "shape", None) == gain.shape
            and np.array_equal(module.weight.detach().numpy(), gain)
        ]
        assert len(found) == 1
        return found[0]


def rows(tensor: Any) -> Any:
    return tensor.detach().reshape(-1, tensor.shape[-1]).numpy()


@pytest.fixture(scope="module")
def network(request: pytest.FixtureRequest) -> Network:
    return Network(*request.param)


@pytest.fixture(scope="module")
def folder(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp(network.name)
    network.live.save_pretrained(made)
    return made


def require_logits(model: FactorModel, logits: Any, atol: float) -> None:
    """Probabilities tell logits up to a constant a row."""
    ours = np.log(model.predictions())
    theirs = logits.astype(float) - np.logaddexp.reduce(
        logits.astype(float), axis=1, keepdims=True
    )
    assert np.ptp(theirs) > 0.1
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol)


@each("scores")
def test_states_give_the_logits_of_the_live_network(network: Network) -> None:
    states = network.last_states
    if network.name in MASKED:
        # A layer with a norm stands between these states and the head.
        states = network.before(network.live.get_output_embeddings())
    model = load(network.live, inputs=states)
    require_logits(model, network.logits, 1e-5)
    assert (model.n_right, model.roles) == (TOKENS, ("input", "label"))


@each("file")
def test_the_folder_holds_the_same_head_and_the_norm_before_it(
    network: Network, folder: Path
) -> None:
    live, stored = load(network.live), load(folder)
    np.testing.assert_array_equal(stored.right, live.right)
    assert stored.link == live.link
    assert (stored.right_bias is None) == (live.right_bias is None)
    if live.right_bias is not None:
        np.testing.assert_array_equal(stored.right_bias, live.right_bias)
    found = read(folder).norm
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "np") as file:
        layer = network.layer_with(file.get_tensor(found.name))
    np.testing.assert_array_equal(live.final_norm.gain, found.norm.gain)
    head = stored.replace(left=found.norm.applied(network.before(layer)))
    require_logits(head, network.logits, 1e-4)


@each("titles")
def test_rows_are_called_by_their_tokens_and_the_rest_is_padding(
    network: Network, folder: Path
) -> None:
    vocabulary = {f"t{row}": row for row in range(TOKENS - 3)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    names = load(folder).names("right")
    assert (names[7], names[TOKENS - 4], names[TOKENS - 3]) == (
        "t7",
        f"t{TOKENS - 4}",
        f"<padding {TOKENS - 3}>",
    )


def test_token_ids_of_an_encoder_and_a_decoder_are_no_hidden_states() -> None:
    import torch

    network = Network("t5", "Seq2SeqLM")
    ids = torch.arange(3, 9)[None]
    with pytest.raises(InputError, match="which are token ids; pass model") as refused:
        load(network.live, inputs=ids)
    call = str(refused.value).partition("; pass ")[2].removesuffix(".")
    names = {"model": network.live, "ids": ids, "TARGETS": ids[:, :4]}
    with torch.no_grad():
        states = eval(call, names)
        logits = rows(network.live(ids, decoder_input_ids=ids[:, :4]).logits)
    require_logits(load(network.live, inputs=states), logits, 1e-5)


@pytest.mark.holds("scores", library="transformers", model="classifiers")
def test_classes_of_a_classifier_live_and_in_a_folder(tmp_path: Path) -> None:
    import torch
    import transformers

    names = {0: "bad", 1: "good", 2: "ugly"}
    for name in ("bart", "bert", "distilbert", "gpt2", "roberta", "t5", "xlnet"):
        config = small(transformers, name, id2label=names)
        live = transformers.AutoModelForSequenceClassification.from_config(
            config
        ).eval()
        states: list[Any] = []
        last = [
            layer
            for layer in live.modules()
            if getattr(layer, "out_features", None) == 3
        ]
        assert len(last) == 1
        last[0].register_forward_pre_hook(
            lambda _, inputs, to=states: to.append(inputs[0])
        )
        with torch.no_grad():
            logits = rows(last[0](torch.randn(9, last[0].in_features)))
        model = load(live, inputs=rows(states[0]))
        require_logits(model, logits, 1e-5)
        live.save_pretrained(tmp_path / name)
        stored = load(tmp_path / name)
        np.testing.assert_array_equal(stored.right, model.right)
        assert (
            model.names("right").tolist()
            == stored.names("right").tolist()
            == list(names.values())
        )


@pytest.mark.holds("scores", library="transformers", model="networks without a head")
def test_input_embeddings_are_no_head(record_property: Any, tmp_path: Path) -> None:
    import transformers

    bare = transformers.AutoModel.from_config(small(transformers, "bert"))
    with pytest.raises(
        InputError, match='load it with its head, or pass kind="vectors"'
    ):
        load(bare)
    assert load(bare, kind="vectors").n_right == TOKENS
    made = {
        "llama": "must be one recognised table, pair or head",
        "t5": "there, for it is a T5Model; got only shared",
    }
    for name, why in made.items():
        transformers.AutoModel.from_config(small(transformers, name)).save_pretrained(
            tmp_path / name
        )
        with pytest.raises(InputError, match=why):
            load(tmp_path / name)
    record_property("held", "refused")


@pytest.mark.holds("scores", library="transformers", model="classifiers")
def test_a_classifier_of_images_whose_only_matrix_is_its_head(tmp_path: Path) -> None:
    import torch
    import transformers

    sizes = {
        "embedding_size": 8,
        "hidden_sizes": [8, 16],
        "depths": [1, 1],
        "layer_type": "basic",
        "num_labels": 5,
    }
    live = transformers.ResNetForImageClassification(
        transformers.ResNetConfig(**sizes)
    ).eval()
    live.save_pretrained(tmp_path)
    states: list[Any] = []
    live.classifier[1].register_forward_pre_hook(
        lambda _, inputs: states.append(inputs[0])
    )
    with torch.no_grad():
        logits = rows(live(pixel_values=torch.randn(4, 3, 32, 32)).logits)
    require_logits(load(live, inputs=rows(states[0])), logits, 1e-5)
    require_logits(load(tmp_path, kind="head", inputs=rows(states[0])), logits, 1e-5)
    with pytest.raises(InputError, match=r"name it with bias='classifier\.1\.bias'"):
        load(tmp_path)


@pytest.mark.holds("file", library="transformers", model="llama")
def test_shards_of_a_checkpoint_are_read_as_one_file(tmp_path: Path) -> None:
    import transformers

    live = transformers.AutoModelForCausalLM.from_config(
        small(transformers, "llama")
    ).eval()
    live.save_pretrained(tmp_path, max_shard_size="2KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    for place in (tmp_path, tmp_path / "model.safetensors.index.json"):
        stored = load(place)
        np.testing.assert_array_equal(stored.right, load(live).right)
        assert stored.final_norm.width == live.config.hidden_size


@pytest.mark.parametrize("shards", ["1GB", "20KB"])
def test_the_advice_for_a_pickled_checkpoint_works(tmp_path: Path, shards: str) -> None:
    """Run what the refusal says to run, of a tied head, whose weights two names share,
    whole and in parts.
    """
    import torch
    import transformers

    live = transformers.AutoModelForCausalLM.from_config(
        small(transformers, "llama", tie_word_embeddings=True)
    )
    live.config.save_pretrained(tmp_path)
    state, names = live.state_dict(), list(live.state_dict())
    halves = [names] if shards == "1GB" else [names[::2], names[1::2]]
    for number, half in enumerate(halves, 1):
        part = f"-{number:05}-of-{len(halves):05}" if len(halves) > 1 else ""
        torch.save(
            {name: state[name] for name in half}, tmp_path / f"pytorch_model{part}.bin"
        )
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    advice = str(refused.value).partition("convert it in Python: ")[2]
    exec(advice.partition(", or embaudit")[0].removesuffix("."), {})
    np.testing.assert_array_equal(load(tmp_path).right, load(live).right)
    assert load(tmp_path).final_norm.width == live.config.hidden_size
