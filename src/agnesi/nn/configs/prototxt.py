"""Caffe's prototxt: protocol buffers as text, read into a description of a network."""

from __future__ import annotations

import re
from typing import Any

from agnesi.core.support.errors import at

#: Blanks and comments before a word, and the word.
_BLANK = r"(?:\s|\#[^\n]*(?:\n|$))*"
_TOKEN = re.compile(_BLANK + r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}:;,<>\[\]]"""
                    r"""|[^\s{}:;,<>\[\]#"']+)""")
#: Names of layers in Caffe's first format.
_OLDER = {
    "CONVOLUTION": "Convolution", "DECONVOLUTION": "Deconvolution", "POOLING": "Pooling",
    "INNER_PRODUCT": "InnerProduct", "RELU": "ReLU", "SIGMOID": "Sigmoid", "TANH": "TanH",
    "DROPOUT": "Dropout", "LRN": "LRN", "SOFTMAX": "Softmax", "SOFTMAX_LOSS": "SoftmaxWithLoss",
    "EUCLIDEAN_LOSS": "EuclideanLoss", "CONCAT": "Concat", "ELTWISE": "Eltwise",
    "FLATTEN": "Flatten", "ACCURACY": "Accuracy", "DATA": "Data", "SPLIT": "Split",
    "SLICE": "Slice", "ABSVAL": "AbsVal", "POWER": "Power", "BNLL": "BNLL", "EXP": "Exp",
    "SIGMOID_CROSS_ENTROPY_LOSS": "SigmoidCrossEntropyLoss", "SILENCE": "Silence",
    "IMAGE_DATA": "ImageData", "HDF5_DATA": "HDF5Data", "MEMORY_DATA": "MemoryData",
    "HINGE_LOSS": "HingeLoss", "ARGMAX": "ArgMax", "MVN": "MVN", "THRESHOLD": "Threshold",
}


def is_like(text: str) -> bool:
    """Return whether a text is a prototxt, by its words."""
    return re.search(r"^\s*layers?\s*\{", text, re.M) is not None


def _value(word: str) -> Any:
    if word[:1] in "\"'":
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def parsed(text: str) -> dict[str, list[Any]]:
    """A message: lists of values, or of messages, by the names of fields."""
    words, place = [], 0
    text = text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            if re.fullmatch(_BLANK, text[place:]):
                break
            line = text.count("\n", 0, place) + 1
            raise ValueError(at(f"prototxt, line {line}: {text[place:place + 20]!r} is no word"))
        words.append((found.group(1), found.start(1)))
        place = found.end()
    words.append(("", len(text)))
    root: dict[str, list[Any]] = {}
    stack, i = [root], 0

    def wrong(what: str) -> ValueError:
        line = text.count("\n", 0, words[i][1]) + 1
        return ValueError(at(f"prototxt, line {line}: {what}"))

    while words[i][0]:
        word = words[i][0]
        if word in "}>":
            stack.pop()
            if not stack:
                raise wrong("a bracket closes nothing")
            i += 1
        elif word in ";,":
            i += 1
        elif word in "{<:[]":
            raise wrong(f"{word!r} where a name belongs")
        else:
            i += 1
            colon = words[i][0] == ":"
            i += colon
            after = words[i][0]
            if after in ("{", "<"):
                message: dict[str, list[Any]] = {}
                stack[-1].setdefault(word, []).append(message)
                stack.append(message)
            elif not colon or after in ("", "}", ">", ";", ",", "]"):
                raise wrong(f"{word!r} has no value")
            elif after == "[":
                i += 1
                while words[i][0] not in ("]", ""):
                    if words[i][0] != ",":
                        stack[-1].setdefault(word, []).append(_value(words[i][0]))
                    i += 1
            else:
                stack[-1].setdefault(word, []).append(_value(after))
            i += 1
    if len(stack) > 1:
        raise wrong("the text ends within a bracket")
    return root


#: Fields of a layer beside the parameters of its kind.
_FIELDS = frozenset("name type bottom top param blobs_lr weight_decay loss_weight propagate_down "
                    "include exclude phase blobs blob_share_mode".split())


def _plain(message: dict[str, list[Any]]) -> dict[str, Any]:
    """A message with single values in the place of lists of one."""
    found = {}
    for name, values in message.items():
        values = [_plain(v) if isinstance(v, dict) else v for v in values]
        found[name] = values[0] if len(values) == 1 else values
    return found


def _of_parameters(layer: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What a layer says of its parameters, the first of which are weights, then biases."""
    params = [{"name": [p]} if isinstance(p, str) else p for p in layer.get("param", [])]
    found: dict[str, list[Any]] = {}
    if any("name" in p for p in params):
        found["shared"] = [p.get("name", [""])[0] for p in params]
    for field, older in (("lr_mult", "blobs_lr"), ("decay_mult", "weight_decay")):
        factors = [float(p.get(field, [1])[0]) for p in params] or [
            float(x) for x in layer.get(older, [])]
        if any(x != 1 for x in factors):
            found[field] = factors
    return found


def loads(text: str) -> dict[str, Any]:
    """The description of a network that :func:`agnesi.nn.from_config` takes.

    Layers are those of training, where the text has several phases.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the text is no prototxt; the message has the line.
    """
    message = parsed(text)
    inputs: dict[str, Any] = {}
    dims = [int(n) for n in message.get("input_dim", [])]
    shapes = [[int(n) for n in s.get("dim", [])] for s in message.get("input_shape", [])]
    for i, name in enumerate(message.get("input", [])):
        inputs[name] = shapes[i] if i < len(shapes) else dims[4 * i:4 * i + 4] or None
    layers = []
    for layer in [*message.get("layers", []), *message.get("layer", [])]:
        only, never = ([p for rule in layer.get(field, []) for p in rule.get("phase", [])]
                       for field in ("include", "exclude"))
        if ("TEST" in only and "TRAIN" not in only) or "TRAIN" in never:
            continue
        kind = layer.get("type", ["?"])[0]
        entry: dict[str, Any] = {
            "type": _OLDER.get(kind, kind), "name": layer.get("name", [kind])[0],
            "inputs": list(layer.get("bottom", [])), "outputs": list(layer.get("top", []))}
        if strange := [f for f in layer if f not in _FIELDS and not f.endswith("_param")]:
            raise ValueError(at(f"prototxt: layer {entry['name']!r} has no field {strange[0]!r}"))
        entry.update(_of_parameters(layer))
        if "loss_weight" in layer:
            entry["loss_weight"] = [float(w) for w in layer["loss_weight"]]
        if "propagate_down" in layer:
            entry["propagate_down"] = layer["propagate_down"]
        for field, values in layer.items():
            if field.endswith("_param") and isinstance(values[0], dict):
                entry.update(_plain(values[0]))
        layers.append(entry)
    return {"type": "Net", "name": message.get("name", [""])[0], "inputs": inputs, "layers": layers}
