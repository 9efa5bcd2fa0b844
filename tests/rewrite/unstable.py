"""Expressions that are known to lose digits, overflow or vanish, on tensors and on exact numbers.

Each takes a namespace ``m`` and ``x``; the numbers are where it is hard.
"""

#: By what is written: the function, and operands.
UNSTABLE = {
    "log(1 + x)": (lambda m, x: m.log(1 + x), (1e-20, 1e-8, 0.3, 1e9)),
    "log(1 - x)": (lambda m, x: m.log(1 - x), (1e-20, -1e-8, 0.3)),
    "log2(1 + x)": (lambda m, x: m.log2(1 + x), (1e-20, 1e-8, 0.3)),
    "log10(1 + x)": (lambda m, x: m.log10(1 + x), (1e-20, 1e-8, 0.3)),
    "exp(x) - 1": (lambda m, x: m.exp(x) - 1, (1e-20, -1e-8, 0.3, -40.0)),
    "1 - exp(x)": (lambda m, x: 1 - m.exp(x), (1e-20, -1e-8, 0.3, -40.0)),
    "(exp(x) - 1) / x": (lambda m, x: (m.exp(x) - 1) / x, (1e-20, 0.3, -40.0)),
    "x - log(exp(x) - 1)": (lambda m, x: x - m.log(m.exp(x) - 1), (1e-9, 0.5, 40.0, 700.0)),
    "(1 - exp(-x))**2 - 1": (lambda m, x: (1 - m.exp(-x)) ** 2 - 1, (1e-9, 0.5, 30.0, 700.0)),
    "x * (exp(1 / x) - 1)": (lambda m, x: x * (m.exp(1 / x) - 1), (3.0, 0.1)),
    "exp(sin(x)) - 1": (lambda m, x: m.exp(m.sin(x)) - 1, (1e-12, 0.5)),
    "log(1 + x) / x": (lambda m, x: m.log(1 + x) / x, (3.0, 1e9)),
    "log(1 + exp(x))": (lambda m, x: m.log(1 + m.exp(x)), (-1000.0, -40.0, 0.5, 40.0, 1000.0)),
    "log(1 + exp(-x))": (lambda m, x: m.log(1 + m.exp(-x)), (-1000.0, -40.0, 0.5, 40.0)),
    "log(exp(x) + 1) - x": (lambda m, x: m.log(m.exp(x) + 1) - x, (-900.0, 0.5, 40.0)),
    "1 / (1 + exp(-x))": (lambda m, x: 1 / (1 + m.exp(-x)), (-700.0, -40.0, 0.5, 40.0, 900.0)),
    "exp(x) / (1 + exp(x))": (lambda m, x: m.exp(x) / (1 + m.exp(x)), (-700.0, 0.5, 40.0, 900.0)),
    "1 - 1 / (1 + exp(-x))": (lambda m, x: 1 - 1 / (1 + m.exp(-x)), (-40.0, 0.5, 40.0, 700.0)),
    "log(1 / (1 + exp(-x)))": (lambda m, x: m.log(1 / (1 + m.exp(-x))), (-900.0, 0.5, 40.0)),
    "log(1 - 1 / (1 + exp(-x)))": (
        lambda m, x: m.log(1 - 1 / (1 + m.exp(-x))), (-40.0, 0.5, 40.0, 900.0)),
    "x / (1 + exp(-x))": (lambda m, x: x / (1 + m.exp(-x)), (-700.0, 0.5, 900.0)),
    "exp(x) / (1 + exp(x))**2": (
        lambda m, x: m.exp(x) / (1 + m.exp(x)) ** 2, (-700.0, 0.5, 40.0, 700.0)),
    "sigmoid(x) * (1 - sigmoid(x))": (
        lambda m, x: m.sigmoid(x) * (1 - m.sigmoid(x)), (-600.0, 0.5, 40.0, 600.0)),
    "1 - sigmoid(x)": (lambda m, x: 1 - m.sigmoid(x), (-40.0, 0.5, 40.0, 700.0)),
    "log(sigmoid(x))": (lambda m, x: m.log(m.sigmoid(x)), (-900.0, 0.5, 40.0)),
    "log(exp(x) + exp(-x))": (lambda m, x: m.log(m.exp(x) + m.exp(-x)), (-900.0, 0.5, 40.0)),
    "log(exp(x) + exp(2x))": (lambda m, x: m.log(m.exp(x) + m.exp(2 * x)), (-900.0, 0.5, 900.0)),
    "log(3exp(x) + exp(x / 2))": (
        lambda m, x: m.log(3 * m.exp(x) + m.exp(x / 2)), (-900.0, 0.5, 900.0)),
    "log(0.3exp(x) + 0.7exp(-x))": (
        lambda m, x: m.log(0.3 * m.exp(x) + 0.7 * m.exp(-x)), (-900.0, 0.9, 900.0)),
    "log(exp(x) + exp(2x) + exp(3x))": (
        lambda m, x: m.log(m.exp(x) + m.exp(2 * x) + m.exp(3 * x)), (-900.0, 0.5, 900.0)),
    "log(x exp(x))": (lambda m, x: m.log(x * m.exp(x)), (900.0, 3.0)),
    "log(exp(x) / x)": (lambda m, x: m.log(m.exp(-x) / x), (900.0, 3.0)),
    "log(sqrt(exp(x)))": (lambda m, x: m.log(m.sqrt(m.exp(x))), (-1000.0, 3.0, 1000.0)),
    "log(exp(x)**2)": (lambda m, x: m.log(m.exp(x) ** 2), (-1000.0, 3.0, 1000.0)),
    "log(1 / exp(x))": (lambda m, x: m.log(1 / m.exp(x)), (-1000.0, 3.0, 1000.0)),
    "log(2 + exp(x))": (lambda m, x: m.log(2 + m.exp(x)), (-40.0, 3.0, 1000.0)),
    "log(1 - exp(-x))": (lambda m, x: m.log(1 - m.exp(-x)), (1e-20, 0.5, 40.0, 700.0)),
    "log(exp(x) - 1)": (lambda m, x: m.log(m.exp(x) - 1), (1e-20, 0.3, 40.0, 900.0)),
    "log(exp(2x) - exp(x))": (lambda m, x: m.log(m.exp(2 * x) - m.exp(x)), (0.3, 40.0, 900.0)),
    "log(cosh(x))": (lambda m, x: m.log(m.cosh(x)), (-800.0, 1e-8, 0.3, 3.0, 800.0)),
    "log(2cosh(x))": (lambda m, x: m.log(2 * m.cosh(x)), (-800.0, 0.3, 3.0, 800.0)),
    "1 / cosh(x)": (lambda m, x: 1 / m.cosh(x), (-700.0, 1e-8, 0.3, 3.0, 700.0, 800.0)),
    "2 / (exp(x) + exp(-x))": (
        lambda m, x: 2 / (m.exp(x) + m.exp(-x)), (-700.0, 0.3, 3.0, 700.0)),
    "sinh(x) / cosh(x)": (lambda m, x: m.sinh(x) / m.cosh(x), (-800.0, 1e-8, 0.3, 800.0)),
    "tanh by exp(x)": (
        lambda m, x: (m.exp(x) - m.exp(-x)) / (m.exp(x) + m.exp(-x)), (-800.0, 1e-8, 0.3, 800.0)),
    "tanh by exp(2x)": (
        lambda m, x: (m.exp(2 * x) - 1) / (m.exp(2 * x) + 1), (-800.0, 1e-8, 0.3, 800.0)),
    "tanh by exp(-2x)": (
        lambda m, x: (1 - m.exp(-2 * x)) / (1 + m.exp(-2 * x)), (-800.0, 1e-8, 0.3, 800.0)),
    "sinh by exp(x)": (lambda m, x: (m.exp(x) - m.exp(-x)) / 2, (1e-20, 1e-8, 0.3, 700.0)),
    "exp(x) - 2 + exp(-x)": (lambda m, x: m.exp(x) - 2 + m.exp(-x), (1e-8, 0.3, 700.0)),
    "cosh(x) - 1": (lambda m, x: m.cosh(x) - 1, (1e-20, 1e-8, 0.3, 700.0)),
    "cosh(x) - sinh(x)": (lambda m, x: m.cosh(x) - m.sinh(x), (0.3, 40.0, 600.0, 900.0)),
    "1 - tanh(x)": (lambda m, x: 1 - m.tanh(x), (-40.0, 0.3, 40.0, 300.0)),
    "x / (exp(x) - 1)": (lambda m, x: x / (m.exp(x) - 1), (-800.0, 3.0, 40.0, 700.0, 800.0)),
    "x exp(x) / (exp(x) - 1)": (
        lambda m, x: x * m.exp(x) / (m.exp(x) - 1), (-600.0, 3.0, 40.0, 800.0)),
    "1 / (exp(x) - 1)": (lambda m, x: 1 / (m.exp(x) - 1), (1e-8, 0.3, 40.0, 700.0)),
    "1 / (exp(x) + 1)": (lambda m, x: 1 / (m.exp(x) + 1), (-40.0, 0.3, 40.0, 700.0)),
    "exp(x) / (exp(x) + exp(x - 1))": (
        lambda m, x: m.exp(x) / (m.exp(x) + m.exp(x - 1)), (-800.0, 0.5, 800.0)),
    "exp(x) / (exp(x) + exp(-x))": (
        lambda m, x: m.exp(x) / (m.exp(x) + m.exp(-x)), (-300.0, 0.5, 800.0)),
    "exp(x) / (exp(x) + exp(2x) + 1)": (
        lambda m, x: m.exp(x) / (m.exp(x) + m.exp(2 * x) + 1), (-600.0, 0.5, 600.0)),
    "exp(x) / exp(x - 1)": (lambda m, x: m.exp(x) / m.exp(x / 2), (-800.0, 0.5, 800.0)),
    "exp(x) exp(-x / 2)": (lambda m, x: m.exp(x) * m.exp(-x / 2), (-800.0, 0.5, 800.0)),
    "(exp(x) + 2) / (exp(x) + 3)": (
        lambda m, x: (m.exp(x) + 2) / (m.exp(x) + 3), (-40.0, 0.5, 800.0)),
    "exp(x) sigmoid(-x)": (lambda m, x: m.exp(x) * m.sigmoid(-x), (-600.0, 0.5, 800.0)),
    "1 - erf(x)": (lambda m, x: 1 - m.erf(x), (-2.0, 0.5, 6.0, 20.0)),
    "1 + erf(x)": (lambda m, x: 1 + m.erf(x), (-6.0, 0.5, 2.0)),
    "1 - erfc(x)": (lambda m, x: 1 - m.erfc(x), (1e-20, 0.5)),
    "(1 + erf(x)) / 2": (lambda m, x: 0.5 * (1 + m.erf(x)), (-6.0, 0.5, 2.0)),
    "log(erfc(x))": (lambda m, x: m.log(m.erfc(x)), (-2.0, 1e-8, 0.5, 30.0, 1e8)),
    "log(erfc(x) / 2)": (lambda m, x: m.log(0.5 * m.erfc(x)), (-4.0, 0.5, 30.0)),
    "log(1 - erf(x))": (lambda m, x: m.log(1 - m.erf(x)), (-2.0, 0.5, 30.0)),
    "log(ndtr(x))": (lambda m, x: m.log(m.ndtr(x)), (-40.0, -1e4, 0.5, 6.0)),
    "1 - ndtr(x)": (lambda m, x: 1 - m.ndtr(x), (-2.0, 0.5, 9.0, 30.0)),
    "log(1 - ndtr(x))": (lambda m, x: m.log(1 - m.ndtr(x)), (-6.0, 0.5, 40.0)),
    "exp(x**2) erfc(x)": (lambda m, x: m.exp(x ** 2) * m.erfc(x), (0.5, 6.0, 40.0)),
    "sqrt(x + 1) - sqrt(x)": (lambda m, x: m.sqrt(x + 1) - m.sqrt(x), (0.5, 1e8, 1e14)),
    "sqrt(1 + x) - 1": (lambda m, x: m.sqrt(1 + x) - 1, (1e-20, 1e-8, 0.5, 1e9)),
    "1 - sqrt(1 - x)": (lambda m, x: 1 - m.sqrt(1 - x), (1e-20, 1e-8, 0.5, -1e9)),
    "sqrt(x**2 + 1) - x": (lambda m, x: m.sqrt(x ** 2 + 1) - x, (-3.0, 0.5, 1e6, 1e10)),
    "1 / (x + 1) - 1 / x": (lambda m, x: 1 / (x + 1) - 1 / x, (0.5, 1e6, 1e10)),
    "1 / sqrt(x) - 1 / sqrt(x + 1)": (
        lambda m, x: 1 / m.sqrt(x) - 1 / m.sqrt(x + 1), (0.5, 1e6, 1e10)),
    "1 / (1 + x) - 1": (lambda m, x: 1 / (1 + x) - 1, (1e-20, 1e-8, 0.5)),
    "(x + 1)**2 - x**2": (lambda m, x: (x + 1) ** 2 - x ** 2, (0.5, 1e6, 1e10)),
    "log(x + 1) - log(x)": (lambda m, x: m.log(x + 1) - m.log(x), (0.5, 1e6, 1e10)),
    "log(1 + x) - log(1 - x)": (lambda m, x: m.log(1 + x) - m.log(1 - x), (1e-20, 1e-8, 0.5)),
    "log((1 + x) / (1 - x))": (lambda m, x: m.log((1 + x) / (1 - x)), (1e-20, 1e-8, 0.5)),
    "log(x + sqrt(x**2 + 1))": (
        lambda m, x: m.log(x + m.sqrt(x ** 2 + 1)), (-1e8, 1e-8, 0.5, 1e8)),
    "log(x + sqrt(x**2 - 1))": (lambda m, x: m.log(x + m.sqrt(x ** 2 - 1)), (1.5, 1e8)),
    "log(1 + x**2)": (lambda m, x: m.log(1 + x ** 2), (1e-10, 0.5, 1e100)),
    "log(1 + x**2), large": (lambda m, x: m.log(1 + x ** 2), (1e200,)),
    "log(x**2)": (lambda m, x: m.log(x ** 2), (1e-200, 3.0, 1e200)),
    "log(sqrt(x))": (lambda m, x: m.log(m.sqrt(x)), (1e-300, 3.0, 1e300)),
    "log(1 / x)": (lambda m, x: m.log(1 / x), (1e-300, 3.0, 1e300)),
    "1 - cos(x)": (lambda m, x: 1 - m.cos(x), (1e-20, 1e-8, 0.5, 3.0)),
    "(1 - cos(x)) / x**2": (lambda m, x: (1 - m.cos(x)) / x ** 2, (0.5, 3.0)),
    "(1 - cos(x)) / sin(x)": (lambda m, x: (1 - m.cos(x)) / m.sin(x), (1e-8, 0.5, 3.0)),
    "tan(x) - sin(x)": (lambda m, x: m.tan(x) - m.sin(x), (1e-8, 0.1, 1.0)),
    "acos(1 - x)": (lambda m, x: m.acos(1 - x), (1e-20, 1e-8, 0.5)),
    "atan(x + 1) - atan(x)": (lambda m, x: m.atan(x + 1) - m.atan(x), (-3.0, 0.5, 1e8)),
    "sin(x + 1e-8) - sin(x)": (lambda m, x: m.sin(x + 1e-8) - m.sin(x), (0.5, 1.0)),
    "x - sin(x)": (lambda m, x: x - m.sin(x), (1e-5, 0.5)),
    "1 / x - 1 / tan(x)": (lambda m, x: 1 / x - 1 / m.tan(x), (1e-5, 0.5)),
    "1 / x - 1 / (exp(x) - 1)": (lambda m, x: 1 / x - 1 / (m.exp(x) - 1), (1e-5, 0.5)),
    "log(1 + x) - x": (lambda m, x: m.log(1 + x) - x, (1e-8, 0.5)),
    "log(x) / (x - 1)": (lambda m, x: m.log(x) / (x - 1), (1.0 + 1e-9, 3.0)),
    "exp(2x) - exp(x)": (lambda m, x: m.exp(2 * x) - m.exp(x), (1e-8, 0.5)),
    "sinh(x) / sinh(x + 1)": (lambda m, x: m.sinh(x) / m.sinh(x + 1), (0.5, 800.0)),
    "log(tanh(x))": (lambda m, x: m.log(m.tanh(x)), (0.5, 25.0)),
    "1 - tanh(x)**2": (lambda m, x: 1 - m.tanh(x) ** 2, (-350.0, -3.0, 1e-8, 0.5, 25.0)),
    "sqrt(x**2 + 1)": (lambda m, x: m.sqrt(x ** 2 + 1), (0.5, 1e200)),
    "x / sqrt(x**2 + 1)": (lambda m, x: x / m.sqrt(x ** 2 + 1), (0.5, 1e200)),
    "(1 + 1 / x)**x": (lambda m, x: (1 + 1 / x) ** x, (3.0, 1e9)),
    "log(1 - tanh(x)**2)": (
        lambda m, x: m.log(1 - m.tanh(x) ** 2), (-300.0, -30.0, 1e-8, 0.7, 30.0, 300.0)),
    "log(1 - tanh(x))": (lambda m, x: m.log(1 - m.tanh(x)), (-2.0, 1e-8, 0.7, 30.0, 300.0)),
    "log(1 + tanh(x))": (lambda m, x: m.log(1 + m.tanh(x)), (-300.0, -30.0, 1e-8, 0.7)),
    "log(tanh(x) / 2)": (lambda m, x: m.log(m.tanh(x) * 0.5), (1e-8, 0.7, 25.0)),
    "log(sinh(x))": (lambda m, x: m.log(m.sinh(x)), (1e-8, 0.7, 30.0, 1000.0)),
    "log(exp(x) - exp(-x))": (
        lambda m, x: m.log(m.exp(x) - m.exp(-x)), (1e-8, 0.7, 30.0, 1000.0)),
    "log(-(exp(x) - exp(-x)))": (
        lambda m, x: m.log(-(m.exp(x) - m.exp(-x))), (-1e-8, -0.7, -30.0, -1000.0)),
    "log(erf(x))": (lambda m, x: m.log(m.erf(x)), (1e-8, 0.3, 0.7, 6.0)),
    "log(1 + cosh(x))": (lambda m, x: m.log(1 + m.cosh(x)), (-1000.0, 1e-8, 0.7, 1000.0)),
    "log(1 + (1 + exp(x)) / 2)": (
        lambda m, x: m.log(1 + 0.5 * (1 + m.exp(x))), (-40.0, 0.7, 1000.0)),
    "log(1 - exp(x)**2)": (lambda m, x: m.log(1 - m.exp(x) ** 2), (-40.0, -0.7, -1e-8)),
    "cosh(x) / (1 + cosh(x))": (
        lambda m, x: m.cosh(x) / (1 + m.cosh(x)), (-900.0, 1e-8, 0.7, 900.0)),
    "sqrt(1 - tanh(x)**2)": (
        lambda m, x: m.sqrt(1 - m.tanh(x) ** 2), (-600.0, 1e-8, 0.7, 30.0, 600.0)),
    "sqrt(sigmoid(x))": (lambda m, x: m.sqrt(m.sigmoid(x)), (-900.0, -1e-8, 0.7, 30.0)),
    "sqrt(erfc(x))": (lambda m, x: m.sqrt(m.erfc(x)), (-0.7, 1e-8, 0.7, 30.0)),
    "1 + tanh(x)": (lambda m, x: 1 + m.tanh(x), (-300.0, -30.0, 0.7)),
    "-1 - tanh(x)": (lambda m, x: -m.tanh(x) - 1, (-300.0, -30.0, 0.7)),
    "x (1 + tanh(x)) / 2": (lambda m, x: 0.5 * x * (1 + m.tanh(x)), (-300.0, -30.0, 0.7)),
    "erfc(x) - 1": (lambda m, x: m.erfc(x) - 1, (-0.7, 1e-20, 0.7)),
    "1 - cosh(x)**2": (lambda m, x: 1 - m.cosh(x) ** 2, (1e-8, 0.7, 300.0)),
    "1 - erf(x)**2": (lambda m, x: 1 - m.erf(x) ** 2, (-6.0, 0.7, 6.0)),
    "1 - sigmoid(x)**2": (lambda m, x: 1 - m.sigmoid(x) ** 2, (0.7, 6.0, 30.0)),
    "1 + (exp(x) - 1)": (lambda m, x: 1 + (m.exp(x) - 1), (-30.0, 0.7)),
    "1 / (cosh(x) - 1)": (lambda m, x: 1 / (m.cosh(x) - 1), (1e-8, 0.7, 1000.0)),
    "exp(-x) log(1 + exp(x))": (
        lambda m, x: m.exp(-x) * m.log(1 + m.exp(x)), (-1000.0, -0.7, 300.0)),
    "log(1 + sinh(x))": (lambda m, x: m.log(1 + m.sinh(x)), (1e-8, 0.7, 1000.0)),
    "sqrt(1 - sigmoid(x)**2)": (
        lambda m, x: m.sqrt(1 - m.sigmoid(x) ** 2), (0.7, 30.0, 1000.0)),
    "log(1 - sqrt(sigmoid(x)))": (
        lambda m, x: m.log(1 - m.sqrt(m.sigmoid(x))), (-30.0, 0.7, 1000.0)),
    "exp(tanh(x))": (lambda m, x: m.exp(m.tanh(x)), (0.7, 30.0)),
    "log(1 - exp(-exp(x)))": (
        lambda m, x: m.log(1 - m.exp(-m.exp(x))), (-1000.0, -100.0, -20.0, -0.7, 0.7, 3.0)),
    "log(log(1 + exp(x)))": (
        lambda m, x: m.log(m.log(1 + m.exp(x))), (-1000.0, -20.0, 0.7, 1000.0)),
    "exp(x)**2 / (1 + exp(x)**2)": (
        lambda m, x: m.exp(x) ** 2 / (1 + m.exp(x) ** 2), (-300.0, -0.7, 0.7, 1000.0)),
    "coth by exp(x)": (
        lambda m, x: (m.exp(x) + m.exp(-x)) / (m.exp(x) - m.exp(-x)), (-0.7, 1e-8, 0.7)),
    "exp(-x**2 / 2) / ndtr(-x)": (
        lambda m, x: m.exp(-x ** 2 / 2) / m.ndtr(-x), (-3.0, 0.7, 1000.0)),
    "ndtr(x + 1) - ndtr(x)": (lambda m, x: m.ndtr(x + 1) - m.ndtr(x), (-3.0, 0.7, 20.0)),
    "log(ndtr(x + 1) - ndtr(x))": (
        lambda m, x: m.log(m.ndtr(x + 1) - m.ndtr(x)), (-30.0, 0.7, 30.0)),
    "sigmoid(x + 1) - sigmoid(x)": (
        lambda m, x: m.sigmoid(x + 1) - m.sigmoid(x), (-300.0, 0.7, 20.0, 300.0)),
    "log(sigmoid(x + 1) - sigmoid(x))": (
        lambda m, x: m.log(m.sigmoid(x + 1) - m.sigmoid(x)), (-1000.0, -3.0, 0.7, 1000.0)),
    "log(1 - sigmoid(x) sigmoid(x + 1))": (
        lambda m, x: m.log(1 - m.sigmoid(x) * m.sigmoid(x + 1)), (-30.0, 0.7, 30.0, 300.0)),
    "log(1 - (1 - sigmoid(x))**3)": (
        lambda m, x: m.log(1 - (1 - m.sigmoid(x)) ** 3), (-300.0, -30.0, 0.7)),
    "x + sqrt(x**2 + 4)": (lambda m, x: x + m.sqrt(x ** 2 + 4), (-1e6, -3.0, 0.5)),
    "sqrt(x**2 - 1) - x": (lambda m, x: m.sqrt(x ** 2 - 1) - x, (3.0, 1e6)),
    "sqrt(1 + x) - sqrt(1 - x)": (
        lambda m, x: m.sqrt(1 + x) - m.sqrt(1 - x), (1e-20, 1e-8, 0.5)),
    "sqrt(x**2 + 0.25) - 0.5": (
        lambda m, x: m.sqrt(x ** 2 + 0.25) - 0.5, (1e-20, 1e-4, 3.0)),
    "x - log(exp(x) + exp(x / 2) + exp(-x))": (
        lambda m, x: x - m.log(m.exp(x) + m.exp(x / 2) + m.exp(-x)), (-0.7, 0.7, 100.0, 1000.0)),
    "log((1 + x**2 / 3)**-2)": (
        lambda m, x: m.log((1 + x ** 2 / 3) ** -2), (1e-8, 0.7, 1000.0)),
    "exp(-x) sinh(x)": (lambda m, x: m.exp(-x) * m.sinh(x), (1e-8, 0.5, 40.0, 800.0)),
    "cosh(x) / exp(x)": (lambda m, x: m.cosh(x) / m.exp(x), (0.5, 40.0, 800.0)),
    "acosh(1 + x)": (lambda m, x: m.acosh(1 + x), (1e-20, 1e-8, 0.5, 1e9)),
    "atanh(1 - x)": (lambda m, x: m.atanh(1 - x), (1e-20, 1e-8, 0.5)),
    "sin(x) / x": (lambda m, x: m.sin(x) / x, (1e-20, 1e-8, 1e-3, 0.5, 3.0)),
    "tanh(x) / x": (lambda m, x: m.tanh(x) / x, (-1e-8, 1e-3, 0.5, 3.0)),
    "asinh(x) / x": (lambda m, x: m.asinh(x) / x, (1e-20, -1e-3, 0.5, 3.0)),
    "erf(x) / x": (lambda m, x: m.erf(x) / x, (1e-20, 1e-3, 0.5, 3.0)),
    "1 / tanh(x) - 1 / x": (lambda m, x: 1 / m.tanh(x) - 1 / x, (1e-20, -1e-3, 0.5, 3.0)),
    "(x - sin(x)) / x**3": (lambda m, x: (x - m.sin(x)) / x ** 3, (1e-12, 0.02, 0.4)),
    "sigmoid(x) - sigmoid(-x)": (lambda m, x: m.sigmoid(x) - m.sigmoid(-x), (1e-12, 0.02, 300.0)),
    "ndtr(x) - 0.5": (lambda m, x: m.ndtr(x) - 0.5, (1e-12, 0.02, -3.0)),
    "1 / x - 1 / (x + 2)": (lambda m, x: 1 / x - 1 / (x + 2), (0.5, 1e5, 1e10)),
    "log(cos(x))": (lambda m, x: m.log(m.cos(x)), (1e-20, -1e-3, 0.5)),
    "x + sqrt(x**2 + 1)": (lambda m, x: x + m.sqrt(x ** 2 + 1), (-1e20, -1e6, -3.0, 0.5)),
    "sqrt(x + 1) - sqrt(x - 1)": (
        lambda m, x: m.sqrt(x + 1) - m.sqrt(x - 1), (2.0, 1e8, 1e14)),
    "log(exp(x) + exp(-x)), slope": (
        lambda m, x: m.log(m.exp(x) + m.exp(-x)), (-1e-8, -1000.0)),
    "log(exp(-x**2) / s)": (
        lambda m, x: m.log(m.exp(-x ** 2) / (x - 1)), (3.0, 100.0)),
    "x / (1 + x)": (lambda m, x: x / (1 + x), (-3.0, 0.5, 1e10)),
    "1 - x / (1 + x)": (lambda m, x: 1 - x / (1 + x), (1e-20, 0.5, 1e10, 1e200)),
    "(x + 1) / (x - 1) - 1": (lambda m, x: (x + 1) / (x - 1) - 1, (-3.0, 0.5, 1e10, 1e200)),
    "(x**2 + 1) / x - x": (lambda m, x: (x * x + 1) / x - x, (-3.0, 0.5, 1e10)),
    "x**2 / (1 + x**2), slope": (lambda m, x: x * x / (1 + x * x), (1e-8, 0.5, 1e10)),
    "x / sqrt(x**2 + 1), slope": (lambda m, x: x / m.sqrt(x * x + 1), (1e-8, 0.5, 1e10)),
    "x**2 / (1 + x**2)": (lambda m, x: x * x / (1 + x * x), (-1e-8, 0.5, 1e200)),
    "(1 - x**2) / (1 + x**2)": (lambda m, x: (1 - x * x) / (1 + x * x), (-1e-8, 0.5, 1e200)),
    "x / (1 + x**2 / 4)": (lambda m, x: x / (1 + x * x / 4), (-1e-8, 0.5, 1e200)),
    "log(x**2 + (x / 2)**2)": (lambda m, x: m.log(x * x + (x / 2) ** 2), (1e-200, 0.5, -1e200)),
    "sqrt(x**2 + (x / 2)**2)": (lambda m, x: m.sqrt(x * x + (x / 2) ** 2), (1e-200, 0.5, -1e200)),
    "x**2 / (1 + x)**2": (lambda m, x: x * x / (1 + x) ** 2, (1e-8, 0.5, 1e200)),
    "log(x / (1 + x))": (lambda m, x: m.log(x / (1 + x)), (1e-20, 0.5, 3.0, 1e10, 1e200)),
    "log(x + 3) - log(x + 1)": (lambda m, x: m.log(x + 3) - m.log(x + 1), (0.5, 3.0, 1e10)),
    "1 - x / sqrt(x**2 + 1)": (lambda m, x: 1 - x / m.sqrt(x * x + 1), (-3.0, 0.5, 1e10)),
    "asinh(x) - log(2x)": (lambda m, x: m.asinh(x) - m.log(2 * x), (0.5, 3.0, 1e10)),
    "acosh(x) - asinh(x)": (lambda m, x: m.acosh(x) - m.asinh(x), (1.5, 3.0, 1e10)),
    "x log(1 + 1 / x) - 1": (lambda m, x: x * m.log(1 + 1 / x) - 1, (0.5, 3.0, 1e10)),
    "exp(x) / sqrt(1 + exp(2x))": (
        lambda m, x: m.exp(x) / m.sqrt(1 + m.exp(2 * x)), (-40.0, 0.7, 40.0)),
    "log(cosh(x)) - x": (lambda m, x: m.log(m.cosh(x)) - x, (-3.0, -1e-9, 1e-9, 0.7, 3.0, 300.0)),
    "x - log(cosh(x))": (lambda m, x: x - m.log(m.cosh(x)), (-3.0, 1e-9, 0.7, 3.0, 300.0)),
    "log(1 + exp(x)) / x - 1": (
        lambda m, x: m.log(1 + m.exp(x)) / x - 1, (-300.0, -0.5, 1e-9, 3.0, 30.0, 300.0)),
    "1 - log(exp(2) + exp(x)) / x": (
        lambda m, x: 1 - m.log(m.exp(2 + 0 * x) + m.exp(x)) / x, (-3.0, 0.5, 3.0, 30.0, 300.0)),
    "log(x exp(x) + exp(-x))": (
        lambda m, x: m.log(x * m.exp(x) + m.exp(-x)), (0.7, 3.0, 900.0)),
    "log((x + 1000) exp(x) - x exp(x - 1))": (
        lambda m, x: m.log((x + 1000) * m.exp(x) - x * m.exp(x - 1)), (-900.0, 0.7, 900.0)),
    "(x exp(x) + exp(-x)) / (exp(x) + exp(-x))": (
        lambda m, x: (x * m.exp(x) + m.exp(-x)) / (m.exp(x) + m.exp(-x)), (-800.0, 0.7, 800.0)),
    "(3exp(x) + exp(-x)) / (exp(x) + exp(-x))": (
        lambda m, x: (3 * m.exp(x) + m.exp(-x)) / (m.exp(x) + m.exp(-x)), (-800.0, 0.7, 800.0)),
    "-x - sqrt(x**2 - 4)": (lambda m, x: -x - m.sqrt(x * x - 4), (-1e8, -3.0, 3.0)),
    "-x - sqrt(x**2 + 1)": (lambda m, x: -x - m.sqrt(x * x + 1), (-1e6, 0.5, 1e6)),
    "(1 + x)**2 - 1": (lambda m, x: (1 + x) ** 2 - 1, (1e-20, -1e-8, 0.3, -3.0)),
    "1 - (1 - x)**10": (lambda m, x: 1 - (1 - x) ** 10, (1e-20, -1e-8, 0.3, 4.0)),
    "(1 + x)**0.7 - 1": (lambda m, x: (1 + x) ** 0.7 - 1, (1e-20, -1e-8, 0.3, 1e9)),
    "(1 + x)**(-x / 2) - 1": (lambda m, x: (1 + x) ** (-x / 2) - 1, (1e-8, -1e-5, 0.3, 30.0)),
    "x**(1e-3 * x) - 1": (lambda m, x: x ** (1e-3 * x) - 1, (1e-8, 0.3, 30.0)),
    "3**x - 1": (lambda m, x: 3.0 ** x - 1, (1e-20, -1e-8, 0.3, 30.0)),
    "log(gamma(x))": (lambda m, x: m.log(m.gamma(x)), (0.5, 30.5, 300.0, 1e6)),
    "log(gamma(x)), signs": (lambda m, x: m.log(m.gamma(x)), (-1.5, -3.25)),
    "1 - cos(x)**2": (lambda m, x: 1 - m.cos(x) ** 2, (1e-9, 0.3, 3.0)),
    "sqrt(1 - cos(x)**2)": (lambda m, x: m.sqrt(1 - m.cos(x) ** 2), (1e-9, 0.7)),
    "1 - sin(x)**2": (lambda m, x: 1 - m.sin(x) ** 2, (1e-9, 0.3, 1.5707)),
    "log((exp(x) + exp(-x)) / 2)": (
        lambda m, x: m.log((m.exp(x) + m.exp(-x)) / 2), (-800.0, 1e-9, 0.3, 800.0)),
    "log(1 + exp(x)) - x sigmoid(x)": (
        lambda m, x: m.log(1 + m.exp(x)) - x * m.sigmoid(x), (-100.0, -30.0, 0.7, 30.0, 100.0)),
    "log(1 + 10**x)": (lambda m, x: m.log(1 + 10.0 ** x), (-30.0, 0.7, 500.0)),
    "log(x**3 / (exp(x) - 1))": (
        lambda m, x: m.log(x**3 / (m.exp(x) - 1)), (0.3, 5.0, 800.0)),
    "log(sinh(x) / x)": (lambda m, x: m.log(m.sinh(x) / x), (-900.0, 3.0, 900.0)),
    "log(3 * 1e150**x / x**(2 * x + 1))": (
        lambda m, x: m.log(3 * 1e150**x / x ** (2 * x + 1)), (0.7, 2.5, 60.0)),
    "sqrt((1 + x) / (1 - x)) - 1": (lambda m, x: m.sqrt((1 + x) / (1 - x)) - 1, (1e-10, 0.3)),
    "1 / sqrt(1 - x / 3) - 1": (lambda m, x: 1 / m.sqrt(1 - x / 3) - 1, (1e-10, 0.3, 2.9)),
    "log(x / (x - 1e-12))": (lambda m, x: m.log(x / (x - 1e-12)), (1.0, 3e-12, 1e6)),
    "log(1 + 0.5 * (x / 3)**2)": (
        lambda m, x: m.log(1 + 0.5 * (x / 3) ** 2), (1e200, 1e-10, 2.0)),
    "sqrt(1 + (x / 3)**2)": (lambda m, x: m.sqrt(1 + (x / 3) ** 2), (1e200, 1e-10, 2.0)),
    "2 * (x / 3)**2 / (4 + (x / 3)**2)": (
        lambda m, x: 2 * (x / 3) ** 2 / (4 + (x / 3) ** 2), (1e200, 1e-10, 2.0)),
    "3**(x / 2) / gamma(x / 2 + 1)": (
        lambda m, x: 3.0 ** (x / 2) / m.gamma(x / 2 + 1), (3.0, 200.0, 400.0)),
    "(1 - exp(-x)) / (1 + exp(-x))": (
        lambda m, x: (1 - m.exp(-x)) / (1 + m.exp(-x)), (-30.0, 1e-9, 0.5, 3.0, 30.0)),
    "tanh(3 * x)": (lambda m, x: m.tanh(3 * x), (-30.0, 1e-9, 0.75, 1.5, 30.0)),
    "x - x tanh(x)": (lambda m, x: x - x * m.tanh(x), (-30.0, 0.5, 3.0, 30.0, 800.0)),
    "x erf(x) - x": (lambda m, x: x * m.erf(x) - x, (-3.0, 0.5, 3.0, 20.0)),
    "erf(x + 0.1) - erf(x)": (lambda m, x: m.erf(x + 0.1) - m.erf(x), (-3.0, -1e-9, 3.0, 20.0)),
    "ndtr(x + 1e-6) - ndtr(x)": (
        lambda m, x: m.ndtr(x + 1e-6) - m.ndtr(x), (-30.0, -3.0, 0.3, 1.5, 3.0, 30.0)),
    "exp(x + 1e-7) - exp(x)": (lambda m, x: m.exp(x + 1e-7) - m.exp(x), (-30.0, 0.5, 30.0)),
    "log((x + 2) / (x + 1))": (
        lambda m, x: m.log((x + 2) / (x + 1)), (0.5, -30.0, 30.0, 1e9)),
    "sqrt(x**2 + x) - x": (lambda m, x: m.sqrt(x * x + x) - x, (0.5, 3.0, 30.0, 800.0, 1e200)),
    "sqrt(x**2 + x + 1) - x": (
        lambda m, x: m.sqrt(x * x + x + 1) - x, (-3.0, 1.5, 30.0, 800.0, 1e200)),
    "1 / (1 + 1 / x)": (lambda m, x: 1 / (1 + 1 / x), (1e-200, -1e-200, 0.5, 1e200)),
    "erfc(x) / exp(-x**2)": (lambda m, x: m.erfc(x) / m.exp(-x * x), (0.5, 30.0)),
    "log(exp(log(1 + exp(x))) - 1)": (
        lambda m, x: m.log(m.exp(m.log(1 + m.exp(x))) - 1), (-1000.0, -1e-8, 0.7, 30.0)),
    "log(sqrt(1 + exp(x)) - 1)": (
        lambda m, x: m.log(m.sqrt(1 + m.exp(x)) - 1), (-1000.0, -30.0, 0.7, 30.0)),
    "log(1 - sigmoid(x)**2)": (
        lambda m, x: m.log(1 - m.sigmoid(x) ** 2), (-30.0, -3.0, 0.7, 30.0)),
    "1 - sigmoid(x)**10": (lambda m, x: 1 - m.sigmoid(x) ** 10, (-3.0, 0.7, 30.0)),
    "1 - tanh(x)**4": (lambda m, x: 1 - m.tanh(x) ** 4, (-30.0, 0.7, 3.0, 30.0)),
    "x ndtr(x) - x": (lambda m, x: x * (0.5 * m.erfc(-x)) - x, (-3.0, 0.7, 20.0)),
    "log(ndtr(x)) - log(ndtr(-x))": (
        lambda m, x: m.log(m.ndtr(x)) - m.log(m.ndtr(-x)), (-30.0, -1e-8, 0.7, 3.0)),
    "log((exp(x) - 1) / x)": (
        lambda m, x: m.log((m.exp(x) - 1) / x), (-1000.0, 1e-8, 0.7, 1000.0)),
    "log(x / (1 - exp(-x)))": (
        lambda m, x: m.log(x / (1 - m.exp(-x))), (-1e-8, 0.7, 1000.0)),
    "log(1 + exp(x)) / x - 1, slope": (
        lambda m, x: m.log(1 + m.exp(x)) / x - 1, (-3.0, 0.7, 30.0)),
    "(1 - tanh(x)) / (1 + tanh(x))": (
        lambda m, x: (1 - m.tanh(x)) / (1 + m.tanh(x)), (-30.0, 0.7, 30.0)),
    "log(sigmoid(-x)**x)": (lambda m, x: m.log(m.sigmoid(-x) ** x), (0.7, 30.0, 900.0)),
}

#: Those that stay off by more than 4 ulp times the condition, in the value or the derivative: there
#: is no form of one or two operations, or it would take longer for everybody else.
EXCEPTIONS = {
    "sinh(x) / sinh(x + 1)", "(1 + 1 / x)**x",
    "exp(-x) log(1 + exp(x))", "log(1 + sinh(x))", "log(1 - sqrt(sigmoid(x)))",
}
