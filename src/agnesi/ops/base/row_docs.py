"""Docstrings and signatures of elementwise functions: what a row declares, in words, and each one's
kin."""

from __future__ import annotations

import inspect

#: Functions on one line are kin of each other; names with another module's name before them are
#: only shown to the rest of their line.  First those of ``agnesi``, then of ``agnesi.special``.
_FAMILIES = """
    abs sign negative square
    acos asin atan cos
    acosh asinh atanh cosh
    add subtract multiply divide
    asin acos atan sin
    asinh acosh atanh sinh
    atan atan2 tan angle
    atan2 hypot
    atanh acosh asinh tanh
    bitwise_and bitwise_or bitwise_xor bitwise_invert
    bitwise_left_shift bitwise_right_shift
    cbrt sqrt power
    ceil floor trunc round
    copysign sign signbit
    cos sin tan acos
    cosh sinh tanh
    digamma lgamma special.trigamma special.polygamma
    divide floor_divide remainder reciprocal
    equal not_equal isclose array_equal
    erf erfc erfinv special.erfcx special.erfi
    exp exp2 expm1 log
    expm1 log1p exp
    floor_divide remainder divmod
    fmax maximum fmin
    fmin minimum fmax
    fmod remainder
    gcd lcm
    greater greater_equal less less_equal
    i0 special.i0e special.i1 special.iv special.k0
    isfinite isinf isnan
    lgamma special.gamma
    log log10 log2 log1p exp
    logaddexp logaddexp2 logsumexp
    logical_and logical_or logical_xor logical_not
    logical_not bitwise_invert
    maximum minimum max clip
    multiply square prod
    minimum maximum min clip
    nextafter spacing
    positive negative copy
    power square sqrt reciprocal
    relu maximum sigmoid softplus
    rsqrt sqrt reciprocal
    sigmoid tanh softplus special.logit
    signbit isneginf
    square sqrt power
    tan atan sin cos
    tanh atanh sinh cosh sigmoid

    agm ellipk
    bdtr bdtrc bdtri bdtrik bdtrin
    bei ber kei ker beip
    beip berp keip kerp bei
    ber bei
    besselpoly jv
    beta betaln binom gamma
    betaincc betaincinv betaincc betainc betainccinv
    boxcox boxcox1p inv_boxcox inv_boxcox1p
    btdtria btdtrib betainc betaincinv
    chdtr chdtrc chdtri chdtriv
    chndtr chndtrix chndtridf chndtrinc
    cosdg sindg tandg cotdg radian
    cosm1 cosdg ag.expm1
    dawsn erfi erfcx
    ellipe ellipk ellipeinc ellipkinc ellipkm1
    elliprc elliprd elliprf elliprg elliprj
    entr rel_entr kl_div
    erfcinv ag.erfinv ag.erfc
    erfcx ag.erfc erfi dawsn
    erfi ag.erf erfcx dawsn
    eval_chebyc eval_chebys eval_chebyt roots_chebyc
    eval_chebys eval_chebyc eval_chebyu roots_chebys
    eval_chebyt eval_chebyu eval_sh_chebyt roots_chebyt
    eval_chebyu eval_sh_chebyu roots_chebyu
    eval_gegenbauer eval_jacobi roots_gegenbauer
    eval_genlaguerre eval_laguerre roots_genlaguerre
    eval_hermite eval_hermitenorm roots_hermite
    eval_hermitenorm roots_hermitenorm
    eval_jacobi eval_sh_jacobi roots_jacobi
    eval_laguerre roots_laguerre
    eval_legendre eval_sh_legendre lpmv roots_legendre
    eval_sh_chebyt eval_sh_chebyu roots_sh_chebyt
    eval_sh_jacobi roots_sh_jacobi
    eval_sh_legendre roots_sh_legendre
    exp1 expi expn
    exp10 ag.exp ag.exp2
    exprel ag.expm1
    fdtr fdtrc fdtri fdtridfd
    gamma ag.lgamma rgamma gammasgn beta
    gammainc gammaincc gammaincinv gammainccinv gammainc_da
    gdtr gdtrc gdtrix gdtria gdtrib
    huber pseudo_huber
    hyp0f1 hyp1f1 hyp2f1 hyperu
    ag.i0 i0e i1 iv
    i0e i1e ive
    i1 i1e k1 iv
    itstruve0 it2struve0 itmodstruve0 struve
    iv ive jv kv
    j0 j1 jv y0
    jv jve yv iv
    k0 k0e k1 kv
    k0e k1e kve
    k1 k1e kn
    kei ker keip
    ker kei kerp
    kn kv yn
    kolmogorov kolmogi smirnov
    kv kve kn iv
    log_wright_bessel wright_bessel
    logit ag.sigmoid xlog1py
    lpmv sph_harm_y
    mathieu_a mathieu_b mathieu_cem mathieu_sem
    modstruve struve iv
    nbdtr nbdtrc nbdtri nbdtrik nbdtrin
    ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc
    nctdtr nctdtrit nctdtridf nctdtrinc
    ndtr ndtri log_ndtr ndtri_exp
    nrdtrimn nrdtrisd ndtr
    obl_cv obl_ang1 obl_rad1 pro_cv
    owens_t ndtr
    pdtr pdtrc pdtri pdtrik
    poch gamma binom
    powm1 ag.expm1 ag.power
    pro_cv pro_ang1 pro_rad1
    rel_entr ag.xlogy
    smirnov smirnovi
    spence polygamma expi
    stdtr stdtrit stdtridf
    struve jv
    tklmbda stdtr
    voigt_profile ndtr wofz
    wright_bessel jv
    wrightomega lambertw
    xlog1py ag.xlogy ag.log1p
    y0 y1 yv j0
    y1 j1 yn
    yn yv yve
    zetac zeta
    trigamma ag.digamma polygamma
"""
#: Phrases for docstrings: the dtypes that a row accepts, by NumPy's kind characters.
_TAKES = {
    "biufc": "of any dtype", "iufc": "numbers, not bool", "biuf": "real numbers or bool",
    "iuf": "real numbers; bool is taken as the default float dtype",
    "biu": "integers or bool", "iu": "integers", "u": "unsigned integers",
    "fc": "real or complex; integers and bool are taken as the default float dtype",
    "f": "real; integers and bool are taken as the default float dtype", "c": "complex",
}
#: The same for the dtypes that it refuses.
_REFUSES = {"iufc": "bool", "biuf": "complex numbers", "iuf": "complex numbers",
            "biu": "floats and complex numbers", "iu": "bool, floats and complex numbers",
            "u": "all other dtypes", "f": "complex numbers", "c": "real numbers"}


_FAMILIES_OF: dict[str, list[str]] = {}
for _line in _FAMILIES.splitlines():
    for _name in _line.split():
        _FAMILIES_OF.setdefault(_name, []).append(_line)
#: Functions that were documented so far, by the file that declares them.
_OF_FILE: dict[str, list[str]] = {}
_FEW_KIN = 4


def kin_of(name: str, home: str) -> list[str]:
    """For See Also: the other functions of a function's families; without a family, those before it
    in its file."""
    before = _OF_FILE.setdefault(home, [])
    others = " ".join(_FAMILIES_OF.get(name, ())).split() or before[-_FEW_KIN:]
    before.append(name)
    return list(dict.fromkeys(n.removeprefix("ag.") for n in others if n != name))


def _signature(*names: str) -> inspect.Signature:
    operands = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY, annotation="TensorLike")
                for n in names]
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None,
                            annotation="Tensor | None")
    return inspect.Signature([*operands, out], return_annotation="Tensor")


#: Of functions with one operand, and with two.
SIGNATURES = {1: _signature("x"), 2: _signature("x1", "x2")}


def docstring(name: str, names: list[str], kinds: str, kind: str, whole: int, home: str,
              summary: str, args: str, result: str) -> str:
    """The docstring of a row, as fields: of its name, those of its operands, of which the first
    ``whole`` are integers, the dtypes that it takes, the kind of its result, the file that declares
    it, and what is said and shown of it."""
    several = len(names) > 1
    takes = f"{_TAKES[kinds][0].upper()}{_TAKES[kinds][1:]}."
    orders, rest = ", ".join(names[:whole]), ", ".join(names[whole:])
    dtype = ("bool" if kind == "bool" else "real" if kind == "real" else
             "floating" if kinds == "f" else "floating or complex" if kinds == "fc" else
             "of the promoted dtype" if several else "of its dtype")
    fields = [
        f":param {orders}: Broadcast with the other operands.\n:type {orders}: array_like of int"
        if whole else "",
        f":param {rest}: They broadcast, and dtypes are promoted.\n    {takes}" if several
        else f":param {rest}: {takes}",
        f":returns: {'Of the broadcast shape' if several else 'Of the shape of ``x``'}, {dtype}.",
        f":raises DTypeError: For {_REFUSES[kinds]}." if kinds in _REFUSES else "",
        ":raises ShapeError: If the shapes do not broadcast." if several else "",
        f":see: {', '.join(kin)}" if (kin := kin_of(name, home)) else "",
    ]
    rows = "\n".join(filter(None, fields))
    return f"{summary}\n\n{rows}\n\n>>> ag.{name}({args})\ntensor({result})\n"
