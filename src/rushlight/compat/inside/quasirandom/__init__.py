"""``torch.quasirandom``: sequences of low discrepancy, not in this version."""

from ....base.absent import AbsentNames as _AbsentNames

_ABSENT = _AbsentNames(
    __name__,
    {
        "": "SobolEngine",
    },
    "scipy.stats.qmc.Sobol draws such numbers; torch.from_numpy takes them",
)
_ABSENT.make_modules()
__getattr__ = _ABSENT.of("")
