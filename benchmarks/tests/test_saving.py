"""State dicts that PyTorch's users saved load here, and their models give the same numbers."""

import json

import numpy as np
import pytest

from benchmarks import peers

torch = peers.torch()
ag = peers.agnesi()

from agnesi import nn, saving  # noqa: E402


def write(state, path):
    """A safetensors file of a state dict, by the format's definition."""
    entries, parts, end = {}, [], 0
    kinds = {torch.float32: "F32", torch.int64: "I64", torch.bfloat16: "BF16", torch.bool: "BOOL"}
    for name, t in state.items():
        raw = t.contiguous().view(torch.uint8).numpy().tobytes() if t.ndim else t.numpy().tobytes()
        entries[name] = {"dtype": kinds[t.dtype], "shape": list(t.shape),
                         "data_offsets": [end, end + len(raw)]}
        parts.append(raw)
        end += len(raw)
    text = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def resnet18(nn):
    """ResNet-18 with torchvision's names, on a quarter of its channels."""

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU()
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            ) if stride != 1 or inputs != outputs else nn.Identity()

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + self.downsample(x))

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16)
            self.relu, self.maxpool = nn.ReLU(), nn.MaxPool2d(3, 2, 1)
            for k, (inputs, outputs) in enumerate([(16, 16), (16, 32), (32, 64), (64, 128)], 1):
                stride = 1 if k == 1 else 2
                setattr(self, f"layer{k}", nn.Sequential(
                    Block(inputs, outputs, stride), Block(outputs, outputs, 1)))
            self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(128, 10)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(self.avgpool(x).flatten(1))

    return ResNet()


def encoder(nn, norm_first):
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, activation="gelu",
                                       batch_first=True, norm_first=norm_first)
    return nn.ModuleList([layer, *[nn.TransformerEncoderLayer(
        32, 4, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=norm_first)]])


def vit(nn):
    """A small vision transformer."""

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.positions = nn.Conv2d(3, 32, 8, 8), nn.Embedding(16, 32)
            self.layers, self.norm = encoder(nn, True), nn.LayerNorm(32)
            self.head = nn.Linear(32, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).swapaxes(1, 2) + self.positions.weight
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x).mean(1))

    return ViT()


def bert(nn):
    """A BERT: post-norm layers over sums of three embeddings."""

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.kinds = nn.Embedding(50, 32), nn.Embedding(2, 32)
            self.positions, self.norm = nn.Embedding(12, 32), nn.LayerNorm(32, eps=1e-12)
            self.layers, self.pooler, self.tanh = encoder(nn, False), nn.Linear(32, 32), nn.Tanh()

        def forward(self, ids):
            x = self.words(ids) + self.positions.weight + self.kinds(ids % 2)
            x = self.norm(x)
            for layer in self.layers:
                x = layer(x)
            return self.tanh(self.pooler(x[:, 0]))

    return Bert()


class Attention(nn.Module):
    """GPT-2's attention in the words of this library."""

    def __init__(self):
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = (t.reshape((*x.shape[:2], 4, 8)).swapaxes(1, 2)
                   for t in ag.split(self.qkv(x), 3, axis=-1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.swapaxes(1, 2).reshape(x.shape))


class GPT(nn.Module):
    """GPT-2 in the words of this library."""

    def __init__(self):
        self.tokens, self.positions = nn.Embedding(50, 32), nn.Embedding(12, 32)
        self.blocks = nn.ModuleList([nn.ModuleDict({
            "norm1": nn.LayerNorm(32), "attention": Attention(), "norm2": nn.LayerNorm(32),
            "up": nn.Linear(32, 64), "down": nn.Linear(64, 32)}) for _ in range(2)])
        self.norm = nn.LayerNorm(32)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight
        for b in self.blocks:
            x = x + b["attention"](b["norm1"](x))
            x = x + b["down"](nn.functional.gelu(b["up"](b["norm2"](x)), approximate="tanh"))
        return self.norm(x) @ self.tokens.weight.T


GPT_NAMES = {
    "transformer.wte": "tokens", "transformer.wpe": "positions", "transformer.ln_f": "norm",
    "transformer.h.*.ln_1": "blocks.*.norm1", "transformer.h.*.ln_2": "blocks.*.norm2",
    "transformer.h.*.attn.c_attn": "blocks.*.attention.qkv",
    "transformer.h.*.attn.c_proj": "blocks.*.attention.out",
    "transformer.h.*.mlp.c_fc": "blocks.*.up", "transformer.h.*.mlp.c_proj": "blocks.*.down",
    "transformer.h.*.attn.bias": None, "lm_head": None,
}


def gpt_state(generator):
    """GPT-2's tensors under the names of its first publishers, whose matrices lie turned."""
    def draw(*shape):
        return torch.randn(shape, generator=generator) * 0.2

    state = {"transformer.wte.weight": draw(50, 32), "transformer.wpe.weight": draw(12, 32)}
    for k in range(2):
        for name, sizes in [("attn.c_attn", (32, 96)), ("attn.c_proj", (32, 32)),
                            ("mlp.c_fc", (32, 64)), ("mlp.c_proj", (64, 32))]:
            state[f"transformer.h.{k}.{name}.weight"] = draw(*sizes)
            state[f"transformer.h.{k}.{name}.bias"] = draw(sizes[1])
        state[f"transformer.h.{k}.attn.bias"] = torch.ones(12, 12, dtype=torch.bool)
        for name in ("ln_1", "ln_2"):
            state[f"transformer.h.{k}.{name}.weight"] = 1 + draw(32)
            state[f"transformer.h.{k}.{name}.bias"] = draw(32)
    state["transformer.ln_f.weight"], state["transformer.ln_f.bias"] = 1 + draw(32), draw(32)
    state["lm_head.weight"] = state["transformer.wte.weight"]
    return state


def gpt_logits(state, ids):
    """GPT-2 by its formulas, in PyTorch."""
    f, s = torch.nn.functional, {n.removeprefix("transformer."): t for n, t in state.items()}
    x = s["wte.weight"][ids] + s["wpe.weight"]
    for k in range(2):
        def affine(x, name, k=k):
            return x @ s[f"h.{k}.{name}.weight"] + s[f"h.{k}.{name}.bias"]

        def norm(x, name, k=k):
            return f.layer_norm(x, (32,), s[f"h.{k}.{name}.weight"], s[f"h.{k}.{name}.bias"])

        q, h, v = (t.view(*x.shape[:2], 4, 8).transpose(1, 2)
                   for t in affine(norm(x, "ln_1"), "attn.c_attn").split(32, -1))
        y = f.scaled_dot_product_attention(q, h, v, is_causal=True).transpose(1, 2)
        x = x + affine(y.reshape(x.shape), "attn.c_proj")
        y = f.gelu(affine(norm(x, "ln_2"), "mlp.c_fc"), approximate="tanh")
        x = x + affine(y, "mlp.c_proj")
    return f.layer_norm(x, (32,), s["ln_f.weight"], s["ln_f.bias"]) @ s["wte.weight"].T


@pytest.mark.parametrize("make", [resnet18, vit, bert], ids=lambda make: make.__name__)
def test_models_of_pytorch_give_the_same_logits(make, tmp_path):
    torch.manual_seed(0)
    theirs, ours = make(torch.nn).eval(), make(nn).eval()
    with torch.no_grad():
        for name, t in theirs.named_buffers():  # statistics as after a training
            if "running" in name:
                t.copy_(torch.rand_like(t) + 0.5)
    write(theirs.state_dict(), tmp_path / "model.safetensors")
    with saving.open_file(tmp_path / "model.safetensors") as file:
        ours.load_state_dict(file)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 50, (3, 12)) if make is bert else (
        rng.standard_normal((2, 3, 32, 32)).astype(np.float32))
    with torch.no_grad():
        want = theirs(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(np.asarray(ours(ag.tensor(x)).detach()), want, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(np.asarray(ag.jit(ours)(ag.tensor(x)).detach()), want, rtol=1e-3,
                               atol=1e-5)


def test_gpt2_comes_under_its_publishers_names(tmp_path):
    state = gpt_state(torch.Generator().manual_seed(0))
    write(state, tmp_path / "gpt2.safetensors")
    renamed = saving.rename(saving.load_file(tmp_path / "gpt2.safetensors"), GPT_NAMES)
    turned = {name: t.T if t.ndim == 2 and name.startswith("blocks") else t
              for name, t in renamed.items()}
    model = GPT()
    model.load_state_dict(turned)
    ids = np.random.default_rng(0).integers(0, 50, (3, 12))
    want = gpt_logits(state, torch.from_numpy(ids)).numpy()
    found = np.asarray(model(ag.tensor(ids)).detach())
    np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-4)


def test_bfloat16_comes_as_it_is(tmp_path):
    write({"w": torch.tensor([1.5, -2.25, 3e38], dtype=torch.bfloat16)}, tmp_path / "w")
    found = saving.load_file(tmp_path / "w")["w"]
    assert found.dtype.name == "bfloat16"
    assert found.astype("float32").tolist() == torch.tensor(
        [1.5, -2.25, 3e38], dtype=torch.bfloat16).float().tolist()
