"""Optimizers: their formulas, the same eagerly and compiled, and their state."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.optim import lr_scheduler, optimizer, states

KINDS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-2),
    "nesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01, weight_decay=1e-2),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
}


def problem(make, seed=0, batch=8):
    """A small model with its optimizer and training step."""
    ag.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Dropout(0.2), nn.Linear(5, 3))
    tool = make(model.parameters())
    rng = np.random.default_rng(seed)
    x = ag.tensor(rng.normal(size=(batch, 6)).astype(np.float32))
    y = ag.tensor(rng.integers(0, 3, batch))

    def step():
        tool.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        tool.step()
        return loss

    return model, tool, step


def close(one, two, tolerance=2e-5):
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        np.testing.assert_allclose(a.array, b.array, atol=tolerance)


@pytest.mark.share(8)
@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_fifty_steps_agree_eagerly_and_compiled(kind, batch):
    eager, tool, step = problem(KINDS[kind], batch=batch)
    losses = []
    for i in range(50):
        tool.lr = 0.02 / (1 + i)
        losses.append(float(step()))
    model, tool, step = problem(KINDS[kind], batch=batch)
    fast = ag.jit(step)
    for i in range(50):
        tool.lr = 0.02 / (1 + i)
        assert float(fast()) == pytest.approx(losses[i], abs=2e-5)
    assert len(fast.specialisations) == 1
    close(eager, model)


@pytest.mark.parametrize("kind", KINDS)
def test_large_parameters_follow_the_same_rule(kind, monkeypatch):
    plain, _, step = problem(KINDS[kind])
    monkeypatch.setattr(optimizer, "COMPILED_FROM", 1 << 60)
    for _ in range(3):
        step()
    native, _, step = problem(KINDS[kind])
    monkeypatch.setattr(optimizer, "COMPILED_FROM", 1)
    for _ in range(3):
        step()
    close(plain, native, 1e-6)


def reference(kind, w, gradients):
    """The formulas in NumPy, double precision."""
    m = v = 0.0
    for t, g in enumerate(gradients, 1):
        if kind == "sgd":
            w = w - 0.1 * g
        elif kind in ("momentum", "nesterov"):
            g = g + (1e-2 * w if kind == "momentum" else 0)
            m = 0.9 * m + g
            w = w - 0.05 * (m if kind == "momentum" else g + 0.9 * m)
        else:
            g = g + (1e-2 * w if kind == "adam" else 0)
            w = w * (1 - 0.01 * 0.01) if kind == "adamw" else w
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            root = np.sqrt(v / (1 - 0.999**t)) + 1e-8
            w = w - 0.01 * m / (1 - 0.9**t) / root
    return w


@pytest.mark.parametrize("kind", KINDS)
def test_formulas(kind):
    rng = np.random.default_rng(1)
    start, gradients = rng.normal(size=4), rng.normal(size=(5, 4))
    w = ag.tensor(start, requires_grad=True)
    tool = KINDS[kind]([w])
    for g in gradients:
        w.grad = ag.tensor(g)
        tool.step()
    np.testing.assert_allclose(w.array, reference(kind, start, gradients), rtol=1e-12)


def test_parameters_keep_their_dtype_under_compiled_hyper_parameters():
    w = ag.ones(3, dtype="float16", requires_grad=True)
    tool = optim.Adam([w], lr=0.1)

    @ag.jit
    def step():
        tool.zero_grad()
        (w * w).sum().backward()
        tool.step()

    step()
    assert w.dtype == np.float16
    np.testing.assert_allclose(w.array, 0.9, atol=1e-3)


def test_parameters_without_gradient_stay():
    used, unused = ag.ones(2, requires_grad=True), ag.ones(2, requires_grad=True)
    tool = optim.Adam([used, unused])
    (used * 2).sum().backward()
    tool.step()
    assert (unused.array == 1).all() and (used.array != 1).all()


def test_hyper_parameters_are_floats():
    tool = KINDS["momentum"]([ag.ones(1, requires_grad=True)])
    assert (tool.lr, tool.momentum, tool.weight_decay) == (0.05, 0.9, 0.01)
    tool.momentum = 0.5
    assert tool.momentum == 0.5 and type(tool.momentum) is float
    assert repr(tool) == "SGD(1 parameters, lr=0.05, momentum=0.5, weight_decay=0.01)"
    tool.weight_decay = 0
    assert tool.weight_decay == 0.0 and not tool.decays


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("options", [{}, {"nesterov": True}, {"dampening": 0.5}])
def test_terms_that_were_0_begin_and_end_between_steps(compiled, options):
    changes = [{"momentum": 0.9}, {}, {"weight_decay": 0.1}, {}, {"momentum": 0.0}, {},
               {"momentum": 0.5, "weight_decay": 0.0}, {}]
    start = {"momentum": 0.9} if "nesterov" in options else {}
    w = ag.tensor([1.0, -2.0], requires_grad=True)
    tool = optim.SGD([w], lr=0.1, **start, **options)

    def step():
        tool.zero_grad()
        (w * w * 0.5).sum().backward()
        tool.step()

    run = ag.jit(step) if compiled else step
    x, v = np.array([1.0, -2.0]), None
    numbers = {"momentum": 0.0, "weight_decay": 0.0, **start}
    for change in changes:
        tool.param_groups[0].update(change)
        numbers.update(change)
        run()
        g = x + numbers["weight_decay"] * x  # as PyTorch's SGD computes it
        if m := numbers["momentum"]:
            v = g if v is None else m * v + (1 - options.get("dampening", 0.0)) * g
            g = g + m * v if options.get("nesterov") else v
        x = x - 0.1 * g
        np.testing.assert_allclose(w.array, x, rtol=1e-5)


def test_a_state_brings_momentum():
    w, other = (ag.ones(2, requires_grad=True) for _ in range(2))
    known = optim.SGD([w], lr=0.1, momentum=0.9)
    (w * 3).sum().backward()
    known.step()
    tool = optim.SGD([other], lr=0.1)
    tool.load_state_dict(known.state_dict())
    assert tool.momentum == 0.9 and tool.state[other]["momentum_buffer"].tolist() == [3.0, 3.0]
    with pytest.raises(ag.TraceError, match="decides which terms a step has"):
        ag.jit(lambda: setattr(tool, "momentum", 0.0))()


def test_gradients_that_a_compiled_step_used_up_are_set_to_zero():
    w = ag.ones(2, requires_grad=True)
    tool = optim.SGD([w], lr=0.1)

    @ag.jit
    def step():
        tool.zero_grad()
        w.sum().backward()
        tool.step()

    step()
    tool.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("make", [
    lambda tool: optim.lr_scheduler.LambdaLR(tool, lambda epoch: 0.5**epoch),
    lambda tool: optim.lr_scheduler.MultiplicativeLR(tool, lambda epoch: 0.5),
    lambda tool: optim.lr_scheduler.OneCycleLR(tool, 1.0, total_steps=9, cycle_momentum=False),
    lambda tool: optim.lr_scheduler.CyclicLR(tool, 0.1, 1.0, cycle_momentum=False),
])
def test_rates_of_groups_that_came_behind_the_schedule_stay(make):
    tool = optim.SGD([ag.ones(1, requires_grad=True)], lr=1.0)
    schedule = make(tool)
    tool.add_param_group({"params": [ag.ones(2, requires_grad=True)], "lr": 0.3})
    before = tool.param_groups[0]["lr"]
    for _ in range(3):
        schedule.step()
    assert tool.param_groups[1]["lr"] == 0.3 and tool.param_groups[0]["lr"] != before


def test_a_rate_is_set_inside_of_a_compiled_function():
    tool = optim.SGD([ag.ones(1, requires_grad=True)])

    @ag.jit
    def step(rate):
        tool.lr = rate

    for rate in (0.5, 0.25, 0.125):
        step(rate)
        assert tool.lr == rate


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", KINDS)
def test_saved_state_goes_on_where_it_was(kind):
    ran, tool, step = problem(KINDS[kind])
    for _ in range(3):
        step()
    weights, state = ran.state_dict(), tool.state_dict()
    random = ag.random.default_generator().state_dict()
    step()
    resumed, tool, step = problem(KINDS[kind], seed=0)
    resumed.load_state_dict(weights)
    tool.load_state_dict(state)
    ag.random.default_generator().load_state_dict(random)
    ag.jit(step)()
    close(ran, resumed, 1e-6)


def test_state_that_does_not_fit_is_refused():
    p = [ag.ones(2, requires_grad=True)]
    plain, heavy, other = optim.SGD(p), optim.SGD(p, momentum=0.9), optim.Adam(p)
    with pytest.raises(KeyError, match=r"besides .*'mean\.0'"):
        plain.load_state_dict(states.flat_state(other))
    with pytest.raises(KeyError, match=r"has \['exp_avg', .*, this SGD keeps nothing"):
        plain.load_state_dict(other.state_dict())
    state = {**states.flat_state(heavy), "momentum.0": np.zeros(3)}
    with pytest.raises(ValueError, match=r"momentum\.0 has shape \(2,\), the state has \(3,\)"):
        heavy.load_state_dict(state)


def test_what_cannot_be_optimised_is_refused():
    with pytest.raises(TypeError, match=r"float32\[2\].*require grad"):
        optim.SGD([ag.ones(2)])
    with pytest.raises(ValueError, match="no parameters"):
        optim.SGD([])
    with pytest.raises(ValueError, match="nesterov needs momentum"):
        optim.SGD([ag.ones(2, requires_grad=True)], nesterov=True)


def test_gradients_can_be_zeroed_instead_of_forgotten():
    w = ag.ones(2, requires_grad=True)
    tool = optim.SGD([w])
    (w * 3).sum().backward()
    held = w.grad
    tool.zero_grad(set_to_none=False)
    assert w.grad is held and held.tolist() == [0, 0]
    tool.zero_grad()
    assert w.grad is None


def test_consumed_gradients_say_so_and_kept_ones_are_there():
    model, _, step = problem(KINDS["sgd"])
    ag.jit(step)()
    with pytest.raises(ag.GradientError, match="keep_grads=True"):
        _ = model[0].weight.grad
    eager, _, plain = problem(KINDS["sgd"])
    kept, _, step = problem(KINDS["sgd"])
    plain()
    ag.manual_seed(0)
    kept, _, step = problem(KINDS["sgd"])
    ag.jit(step, keep_grads=True)()
    for a, b in zip(eager.parameters(), kept.parameters(), strict=True):
        np.testing.assert_allclose(a.grad.array, b.grad.array, atol=1e-6)


def test_gradients_that_nobody_used_are_set():
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    @ag.jit
    def gradient():
        w.grad = None
        (w * w).sum().backward()

    gradient()
    assert w.grad.tolist() == [2, 4]


def test_schedules():
    tool = optim.SGD([ag.ones(1, requires_grad=True)], lr=1.0)
    steps = lr_scheduler.StepLR(tool, 2, gamma=0.5)
    rates = []
    for _ in range(4):
        steps.step()
        rates.append(tool.lr)
    assert rates == [1.0, 0.5, 0.5, 0.25]
    cosine = lr_scheduler.CosineAnnealingLR(tool, 4, eta_min=0.05)
    for _ in range(4):
        cosine.step()
    assert tool.lr == pytest.approx(0.05)


@pytest.mark.parametrize("make, kind, text", [
    (lambda w: optim.SGD([w, w]), ValueError, "a parameter is given twice, and would be updated"),
    (lambda w: optim.Adam([w], betas=(1.0, 0.9)), ValueError,
     "Adam: betas must be two numbers, with one in \\[0, 1\\) in the place of 1.0"),
    (lambda w: optim.SGD([w], momentum=-0.5), ValueError,
     "SGD: momentum must be at least 0, not -0.5"),
    (lambda w: setattr(optim.SGD([w]), "lr", None), ValueError,
     "SGD: lr must be a number of at least 0, not None"),
    (lambda w: optim.SGD([w], lr="0.1"), TypeError, "SGD: lr must be a number, not '0.1'"),
    (lambda w: optim.lr_scheduler.StepLR(w, 2), TypeError,
     r"StepLR: optimizer must be agnesi's Optimizer, not float32\[2\]"),
    (lambda w: optim.lr_scheduler.StepLR(optim.SGD([w]), 0), ValueError,
     "StepLR: step_size must be at least 1, not 0"),
    (lambda w: optim.lr_scheduler.CosineAnnealingLR(optim.SGD([w]), 0), ValueError,
     "CosineAnnealingLR: T_max must be at least 1, not 0"),
])
def test_numbers_that_cannot_be_are_refused(make, kind, text):
    with pytest.raises(kind, match=text):
        make(ag.ones(2, requires_grad=True))


def test_a_state_that_does_not_fit_changes_nothing():
    w = ag.ones(2, requires_grad=True)
    optimizer = ag.optim.SGD([w], lr=0.1, momentum=0.9)
    flat = states.flat_state
    before = {k: v.tolist() for k, v in flat(optimizer).items()}
    for name, bad in (("momentum.0", np.ones(2, complex)), ("momentum.0", np.ones(3)),
                      ("momentum", np.array(-1.0)), ("lr", np.array(-1.0))):
        state = {k: v / 2 for k, v in flat(optimizer).items()}
        with pytest.raises((TypeError, ValueError)):
            optimizer.load_state_dict({**state, name: bad})
        assert {k: v.tolist() for k, v in flat(optimizer).items()} == before


@pytest.mark.parametrize("compiled", [False, True])
def test_frozen_parameters_of_any_dtype_may_be_among_others(compiled):
    weight, mask = ag.ones(3, requires_grad=True), nn.Parameter(ag.ones(3) > 0, requires_grad=False)
    adam = optim.Adam([mask, weight], lr=0.1)

    def step():
        adam.zero_grad()
        (weight * mask).sum().backward()
        adam.step()

    (ag.jit(step) if compiled else step)()
    adam.load_state_dict(adam.state_dict())
    assert mask.tolist() == [True] * 3 and (weight.numpy() < 1).all()
    with pytest.raises(TypeError, match="cannot be optimised"):
        optim.Adam([mask])


def test_frozen_parameters_stay_until_they_thaw():
    for compiled in (False, True):
        ag.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        for p in model[0].parameters():
            p.requires_grad = False
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        x = ag.ones((2, 3))

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()

        run = ag.jit(step) if compiled else step
        for thawed in (False, True):
            before = [p.numpy().copy() for p in model.parameters()]
            run(x)
            changed = [not np.array_equal(a, p) for a, p in zip(
                before, model.parameters(), strict=True)]
            assert changed == [thawed, thawed, True, True]
            for p in model.parameters():
                p.requires_grad = True
    with pytest.raises(TypeError, match="require grad"):
        optim.SGD([ag.zeros(2)], lr=0.1)
