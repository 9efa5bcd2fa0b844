"""Where elementwise operations are tried: bounds of operands, or orders that are held."""

from __future__ import annotations

Bounds = tuple[float, float]

_P, _UNIT, _SOME = (0.5, 2.0), (0.1, 0.9), (0.3, 2.5)
#: Bounds of the operands of special functions that have derivatives to all of them, by name.
DOMAINS: dict[str, tuple[Bounds, ...]] = {
    "airye_ai": (_P,), "airye_aip": (_P,), "airye_bi": (_P,), "airye_bip": (_P,),
    **dict.fromkeys("ker kei kerp keip berp beip".split(), (_P,)),
    **{f"{name}_{i}": (_P,) for name in ("itj0y0", "it2j0y0", "iti0k0", "it2i0k0") for i in (0, 1)},
    **{f"itairy_{i}": ((-1.0, 1.0),) for i in range(4)},
    **dict.fromkeys("itstruve0 it2struve0 itmodstruve0".split(), (_P,)),
    "elliprf": ((0.5, 1.0), (1.2, 2.0), (2.2, 3.0)),
    "elliprd": ((0.5, 1.0), (1.2, 2.0), (2.2, 3.0)),
    "slope_of_elliprd": ((0.5, 1.0), (1.2, 2.0), (2.2, 3.0)),
    **dict.fromkeys(("slope_of_ellipk", "slope_of_ellipe"), ((-1.0, 0.8),)),
    "elliprg": ((0.5, 1.0), (1.2, 2.0), (2.2, 3.0)),
    "ellipkinc": ((-1.4, 1.4), (-1.0, 0.8)), "ellipeinc": ((-1.4, 1.4), (-1.0, 0.8)),
    "ellipkm1": ((0.05, 2.0),), "agm": (_P, (2.2, 4.0)),
    **{f"ellipj_{i}": ((-1.4, 1.4), (0.1, 0.9)) for i in range(4)},
    "erfi": ((-1.5, 1.5),), "spence": (_P,), "shi": (_P,), "chi": (_P,),
    "wofz": ((0.0, 1.0),), "voigt_profile": ((-2.0, 2.0), _P, _P),
    "boxcox": (_SOME, (-2.0, 2.0)), "boxcox1p": (_SOME, (-2.0, 2.0)),
    "inv_boxcox": (_SOME, _SOME), "inv_boxcox1p": (_SOME, _SOME), "powm1": (_P, (-1.0, 1.0)),
    **{f"gammainc{end}": ((1.0, 3.0), _UNIT) for end in ("", "c", "inv", "cinv")},
    **{f"betainc{end}": ((1.0, 3.0), (1.0, 3.0), _UNIT) for end in ("", "c", "inv", "cinv")},
    "chdtr": ((1.0, 5.0), _P), "chdtrc": ((1.0, 5.0), _P),
    **dict.fromkeys(("gdtr", "gdtrc"), (_P, _P, _P)),
    "tandg": ((-60.0, 60.0),), "cotdg": ((20.0, 80.0),), "sindg": ((-200.0, 200.0),),
    "cosdg": ((-200.0, 200.0),), "gammasgn": ((0.5, 2.0),),
    "nrdtrimn": (_UNIT, _P, (-1.0, 1.0)), "nrdtrisd": ((-1.0, 0.0), (0.6, 0.9), (0.5, 1.0)),
    **dict.fromkeys(("ndtri_exp", "log_one_minus_exp"), ((-3.0, -0.1),)),
    "lambertw": ((-0.2, 3.0),), "lambertw_low": ((-0.3, -0.05),),
}
_TWO, _ONE_TWO = (2.0,), (1.0, 2.0)
#: Leading operands that are held, to which there is no derivative, and the bounds of the last one.
ORDERED: dict[str, tuple[tuple[float, ...], Bounds]] = {
    "jv": ((1.5,), _UNIT), "yv": ((0.5,), _UNIT), "iv": ((1.5,), _UNIT), "kv": ((0.5,), _UNIT),
    "rate_of_ive": ((1.5,), (26.0, 40.0)), "rate_of_kve": ((0.5,), (26.0, 40.0)),
    "ive": (_TWO, _UNIT), "kve": ((1.0,), _UNIT), "jve": ((1.5,), _UNIT), "yve": ((0.5,), _UNIT),
    "yn": (_TWO, _P), "kn": (_TWO, _P), "struve": ((1.0,), _P), "modstruve": ((1.0,), _P),
    **{f"spherical_{k}n{end}": (_TWO, _UNIT) for k in "jyik" for end in ("", "_slope")},
    "hurwitz_zeta": ((2.5,), _UNIT),
    **dict.fromkeys("gammainc_da gammainc_daa".split(), ((1.7,), _UNIT)),
    **{f"betainc_{k}": ((1.5, 2.5), _UNIT) for k in "da db daa dbb along".split()},
    "polygamma": (_TWO, _UNIT),
    **{f"{name}_{i}": ((1.2,), _P) for name in ("pbdv", "pbvv", "pbwa") for i in (0, 1)},
    **{f"eval_{name}": ((3.0,), _UNIT)
       for name in "legendre sh_legendre chebyt chebyu chebyc chebys sh_chebyt sh_chebyu laguerre "
                   "laguerre_whole hermite hermitenorm".split()},
    **dict.fromkeys(("eval_genlaguerre", "eval_genlaguerre_whole"), ((3.0, 0.5), _UNIT)),
    "eval_gegenbauer": ((3.0, 1.2), _UNIT), "eval_jacobi": ((3.0, 0.5, 1.2), _UNIT),
    "eval_sh_jacobi": ((3.0, 1.5, 1.2), _UNIT), "lpmv": (_ONE_TWO, _UNIT),
    "hyp0f1": ((1.5,), _UNIT), "hyp1f1": ((1.2, 2.5), _UNIT), "hyperu": ((1.2, 2.5), _P),
    "hyp2f1": ((0.7, 1.2, 2.5), (0.1, 0.7)), "wright_bessel": ((0.5, 1.0), _P),
    "log_wright_bessel": ((0.5, 1.0), _P), "expn": ((3.0,), _P),
    "bdtr": ((1.0, 4.0), _UNIT), "bdtrc": ((1.0, 4.0), _UNIT), "bdtri": ((1.0, 4.0), _UNIT),
    "nbdtr": ((1.0, 4.0), _UNIT), "nbdtrc": ((1.0, 4.0), _UNIT), "nbdtri": ((1.0, 4.0), _UNIT),
    "pdtr": (_TWO, _P), "pdtrc": (_TWO, _P), "pdtri": (_TWO, _UNIT),
    "chdtri": ((3.0,), _UNIT),
    "fdtr": ((3.0, 4.0), _P), "fdtrc": ((3.0, 4.0), _P), "fdtri": ((3.0, 4.0), _UNIT),
    "gdtrix": ((1.5, 2.0), _UNIT),
    "stdtr": ((3.0,), (-2.0, 2.0)), "stdtrit": ((3.0,), _UNIT),
    **{f"mathieu_{k}_{i}": ((1.0, 0.5), _P) for i in (0, 1)
       for k in "cem sem modcem1 modcem2 modsem1 modsem2".split()},
    **{f"{k}_ang1_{i}": ((1.0, 2.0, 0.7), (0.1, 0.6)) for k in ("pro", "obl") for i in (0, 1)},
    "pro_rad1_0": ((1.0, 2.0, 0.7), (1.4, 2.0)), "pro_rad1_1": ((1.0, 2.0, 0.7), (1.4, 2.0)),
    "obl_rad1_0": ((1.0, 2.0, 0.7), (0.5, 1.5)), "obl_rad1_1": ((1.0, 2.0, 0.7), (0.5, 1.5)),
}
#: Operands of functions with few derivatives or a few digits only, of which the value is checked.
VALUES: dict[str, tuple[float, ...]] = {
    "besselpoly": (1.0, 1.0, 0.5), "elliprj": (0.6, 1.1, 1.7, 2.2), "zetac": (2.5,),
    "riemann_zeta": (2.5,),
    "bdtrik": (0.6, 5.0, 0.4), "bdtrin": (1.0, 0.6, 0.4), "nbdtrik": (0.6, 4.0, 0.4),
    "nbdtrin": (1.0, 0.6, 0.4), "pdtrik": (0.6, 2.0), "chdtriv": (0.4, 2.0),
    "chndtr": (1.0, 2.5, 0.7), "chndtrix": (0.4, 2.5, 0.7), "chndtridf": (1.0, 0.4, 0.7),
    "chndtrinc": (1.5, 2.5, 0.2), "ncx2_pdf": (1.0, 2.5, 0.7), "fdtridfd": (3.0, 0.6, 1.2),
    "ncf_pdf": (1.0, 3.0, 4.0, 0.7), "ncfdtridfd": (3.0, 0.5, 0.7, 1.0),
    "ncfdtridfn": (0.5, 4.0, 0.7, 1.0), "ncfdtrinc": (3.0, 4.0, 0.4, 1.0),
    "ncfdtr": (3.0, 4.0, 0.7, 1.0), "ncfdtri": (3.0, 4.0, 0.7, 0.4), "nctdtr": (3.0, 1.0, 0.8),
    "nctdtrit": (3.0, 1.0, 0.4), "smirnov": (4.0, 0.4), "smirnovi": (4.0, 0.3),
    "elliprc": (0.7, 1.5),
    "gdtria": (0.4, 1.5, 1.2), "gdtrib": (1.2, 0.4, 1.5), "btdtria": (0.4, 1.5, 0.5),
    "btdtrib": (1.5, 0.4, 0.5), "stdtridf": (0.75, 0.8),
    "nctdtridf": (0.4, 1.0, 1.0), "nctdtrinc": (3.0, 0.4, 1.0), "kolmogpp": (0.8,),
    "kolmogorov": (0.8,), "kolmogi": (0.4,), "smirnovp": (4.0, 0.3), "tklmbda": (0.3, 1.5),
    "mathieu_a": (1.0, 0.5), "mathieu_b": (1.0, 0.5), "pro_cv": (1.0, 2.0, 0.7),
    "obl_cv": (1.0, 2.0, 0.7),
    **{f"{k}_rad2_{i}": (0.0, 1.0, 2.0, 2.5) for k in ("pro", "obl") for i in (0, 1)},
    **{f"{k}_cv_{i}": (0.0, 1.0, 2.0, 4.0, 2.5) for i in (0, 1)
       for k in "pro_rad1 pro_rad2 obl_rad1 obl_rad2".split()},
    **{f"{k}_ang1_cv_{i}": (1.0, 2.0, 0.7, 6.2, 0.4) for k in ("pro", "obl") for i in (0, 1)},
}
