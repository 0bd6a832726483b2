"""Transforms, constraints and the registries against PyTorch: values, inverses, Jacobians, shapes, gradients, errors, printed forms."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from distribution_cases import assert_same, definite, lower, numbers, outcome, positive, share, tensor  # noqa: E402

import rushlight  # noqa: E402

MODULES = (rushlight, torch)


def chain(m, **options):
    D = m.distributions
    return D.ComposeTransform(
        [D.AffineTransform(0.5, 2.0), D.SigmoidTransform(), D.AffineTransform(-1.0, m.tensor(3.0))], **options
    )


# Made of a module and options; an input of random numbers.
TRANSFORMS = {
    "abs": (lambda m, **o: m.distributions.AbsTransform(**o), lambda r: r.normal(size=(3,))),
    "affine": (lambda m, **o: m.distributions.AffineTransform(1.0, -2.0, **o), lambda r: r.normal(size=(2, 3))),
    "affine of tensors": (
        lambda m, **o: m.distributions.AffineTransform(m.tensor([1.0, 2.0]), m.tensor([[2.0], [-3.0]]), **o),
        lambda r: r.normal(size=(2, 2)),
    ),
    "affine event": (
        lambda m, **o: m.distributions.AffineTransform(0.0, m.tensor([2.0, -3.0, 4.0]), event_dim=1, **o),
        lambda r: r.normal(size=(2, 3)),
    ),
    "cat": (
        lambda m, **o: m.distributions.CatTransform([m.distributions.ExpTransform(), m.distributions.identity_transform], -1, [1, 2], **o),
        lambda r: r.normal(size=(2, 3)),
    ),
    "cat of events": (
        lambda m, **o: m.distributions.CatTransform(
            [m.distributions.AffineTransform(0.0, 2.0, event_dim=1), m.distributions.ExpTransform()], 0, [2, 1], **o
        ),
        lambda r: r.normal(size=(3, 4)),
    ),
    "compose": (chain, lambda r: r.normal(size=(3,))),
    "empty": (lambda m, **o: m.distributions.ComposeTransform([], **o), lambda r: r.normal(size=(3,))),
    "correlation": (lambda m, **o: m.distributions.CorrCholeskyTransform(**o), lambda r: r.normal(size=(2, 6))),
    "distribution": (
        lambda m, **o: m.distributions.CumulativeDistributionTransform(m.distributions.Normal(0.5, 2.0), **o),
        lambda r: r.normal(size=(3,)),
    ),
    "exp": (lambda m, **o: m.distributions.ExpTransform(**o), lambda r: r.normal(size=(3,))),
    "independent": (
        lambda m, **o: m.distributions.IndependentTransform(m.distributions.ExpTransform(), 2, **o),
        lambda r: r.normal(size=(2, 3, 2)),
    ),
    "lower": (lambda m, **o: m.distributions.LowerCholeskyTransform(**o), lambda r: r.normal(size=(2, 3, 3))),
    "definite": (lambda m, **o: m.distributions.PositiveDefiniteTransform(**o), lambda r: r.normal(size=(2, 3, 3))),
    "power": (lambda m, **o: m.distributions.PowerTransform(m.tensor([2.0, -0.5]), **o), lambda r: positive(r, 3, 2)),
    "reshape": (lambda m, **o: m.distributions.ReshapeTransform((2, 3), (6,), **o), lambda r: r.normal(size=(4, 2, 3))),
    "sigmoid": (lambda m, **o: m.distributions.SigmoidTransform(**o), lambda r: 3 * r.normal(size=(5,))),
    "softmax": (lambda m, **o: m.distributions.SoftmaxTransform(**o), lambda r: r.normal(size=(2, 3))),
    "softplus": (lambda m, **o: m.distributions.SoftplusTransform(**o), lambda r: 3 * r.normal(size=(5,))),
    "stack": (
        lambda m, **o: m.distributions.StackTransform([m.distributions.ExpTransform(), m.distributions.TanhTransform()], 1, **o),
        lambda r: r.normal(size=(3, 2)),
    ),
    "sticks": (lambda m, **o: m.distributions.StickBreakingTransform(**o), lambda r: r.normal(size=(2, 3))),
    "tanh": (lambda m, **o: m.distributions.TanhTransform(**o), lambda r: 2 * r.normal(size=(5,))),
}  # fmt: skip

CONSTRAINTS = {
    name: (lambda m, name=name: getattr(m.distributions.constraints, name))
    for name in (
        "boolean", "nonnegative_integer", "positive_integer", "real", "positive", "nonnegative", "unit_interval", "real_vector",
        "one_hot", "simplex", "lower_triangular", "lower_cholesky", "corr_cholesky", "square", "symmetric",
        "positive_semidefinite", "positive_definite", "dependent",
    )
} | {
    "greater": lambda m: m.distributions.constraints.greater_than(0.5),
    "greater or equal": lambda m: m.distributions.constraints.greater_than_eq(m.tensor(1.0)),
    "less": lambda m: m.distributions.constraints.less_than(0.5),
    "interval": lambda m: m.distributions.constraints.interval(-1.0, 0.5),
    "half open": lambda m: m.distributions.constraints.half_open_interval(-1.0, 1.0),
    "integers": lambda m: m.distributions.constraints.integer_interval(0, 3),
    "integers below": lambda m: m.distributions.constraints._IntegerLessThan(3),
    "counts": lambda m: m.distributions.constraints.multinomial(2),
    "independent": lambda m: m.distributions.constraints.independent(m.distributions.constraints.positive, 2),
    "mixture": lambda m: m.distributions.constraints.MixtureSameFamilyConstraint(m.distributions.constraints.positive),
    "cat": lambda m: m.distributions.constraints.cat([m.distributions.constraints.positive, m.distributions.constraints.real], -1, [1, 2]),
    "stack": lambda m: m.distributions.constraints.stack([m.distributions.constraints.simplex, m.distributions.constraints.real_vector, m.distributions.constraints.simplex], -2),
    "stack of numbers": lambda m: m.distributions.constraints.stack([m.distributions.constraints.positive] * 3, -1),
}  # fmt: skip


def values_to_check():
    r = np.random.default_rng(0)
    vector = np.array([0.2, 0.3, 0.5])
    factor = np.linalg.cholesky(np.array([[1.0, 0.4, 0.2], [0.4, 1.0, 0.1], [0.2, 0.1, 1.0]]))
    yield np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, np.nan, np.inf])
    yield np.stack([vector, np.array([0.0, 1.0, 0.0]), np.array([0.5, 0.6, -0.1])])
    yield np.stack([definite(r, 3, 3), factor, lower(r, 3, 3), np.diag([1.0, -1.0, 0.0]), np.eye(3)])
    yield r.normal(size=(2, 3, 4))
    yield np.array(1.0)


def same(call, what, factor=3.0):
    assert_same(*(outcome(lambda m=m: call(m)) for m in MODULES), what, factor)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    make, draw = TRANSFORMS[name]
    x = draw(np.random.default_rng(0))
    transforms = {m: make(m) for m in MODULES}
    y = numbers(transforms[torch](tensor(torch, x)))
    same(lambda m: transforms[m](tensor(m, x)), (name, "forward"))
    same(lambda m: transforms[m].inv(tensor(m, y)), (name, "inverse"))
    same(lambda m: transforms[m].log_abs_det_jacobian(tensor(m, x), tensor(m, y)), (name, "jacobian"))
    same(
        lambda m: transforms[m].inv.log_abs_det_jacobian(tensor(m, y), tensor(m, x)), (name, "jacobian of the inverse")
    )
    for shape in (x.shape, y.shape, (), (2,), (5, 2, 3)):
        same(lambda m: tuple(transforms[m].forward_shape(m.Size(shape))), (name, shape))
        same(lambda m: tuple(transforms[m].inverse_shape(m.Size(shape))), (name, shape))
        same(lambda m: tuple(transforms[m].inv.forward_shape(m.Size(shape))), (name, shape))
    for part in ("domain", "codomain", "sign", "event_dim", "bijective"):
        same(lambda m: repr(getattr(transforms[m], part)), (name, part))
        same(lambda m: repr(getattr(transforms[m].inv, part)), (name, "inv", part))
    same(lambda m: (repr(transforms[m]), repr(transforms[m].inv)), name)
    same(
        lambda m: (transforms[m] == make(m), transforms[m].inv == make(m).inv, transforms[m] == transforms[m].inv), name
    )


@pytest.mark.parametrize("name", TRANSFORMS)
def test_gradients_caches_and_pickles_of_transforms(name):
    make, draw = TRANSFORMS[name]
    x = draw(np.random.default_rng(1))

    def gradient(m):
        leaf = tensor(m, x).requires_grad_(True)
        y = make(m)(leaf)
        (y * m.linspace(0.5, 1.5, y.numel()).reshape(y.shape)).sum().backward()
        return leaf.grad

    same(gradient, name, 30)

    def cached(m):
        transform = make(m, cache_size=1)
        leaf = tensor(m, x)
        y = transform(leaf)
        again = transform.with_cache(0)
        return transform(leaf) is y, transform.inv(y) is leaf, again is transform, transform.with_cache(1) is transform

    same(cached, (name, "cache"))
    transform = make(rushlight)
    again = pickle.loads(pickle.dumps(transform.inv)).inv
    np.testing.assert_array_equal(numbers(again(tensor(rushlight, x))), numbers(transform(tensor(rushlight, x))))


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(name):
    make = CONSTRAINTS[name]
    same(lambda m: repr(make(m)), name)
    same(lambda m: (make(m).is_discrete, make(m).event_dim), name)
    for value in values_to_check():
        same(lambda m: make(m).check(tensor(m, value)), (name, value))
    for registry in ("biject_to", "transform_to"):
        same(lambda m: repr(getattr(m.distributions, registry)(make(m))), (name, registry))
        if name not in ("stack", "independent", "cat", "stack of numbers"):
            x = np.random.default_rng(2).normal(size=(3, 3))
            same(lambda m: getattr(m.distributions, registry)(make(m))(tensor(m, x)), (name, registry))


WRONG = [
    lambda m: m.distributions.ExpTransform(cache_size=2),
    lambda m: m.distributions.ReshapeTransform((2, 3), (5,)),
    lambda m: m.distributions.CatTransform([1, 2]),
    lambda m: m.distributions.CatTransform([m.distributions.ExpTransform()], lengths=[1, 2]),
    lambda m: m.distributions.CatTransform([m.distributions.ExpTransform()], lengths=[2])(m.zeros(3)),
    lambda m: m.distributions.StackTransform([m.distributions.ExpTransform()], 1)(m.zeros(3)),
    lambda m: m.distributions.StackTransform([m.distributions.ExpTransform()])(m.zeros(3)),
    lambda m: m.distributions.StackTransform([m.distributions.ExpTransform()]).log_abs_det_jacobian(m.zeros(1), m.zeros(3)),
    lambda m: m.distributions.IndependentTransform(m.distributions.ExpTransform(), 2)(m.zeros(3)),
    lambda m: m.distributions.CorrCholeskyTransform().forward_shape(m.Size((2,))),
    lambda m: m.distributions.CorrCholeskyTransform().inverse_shape(m.Size((2, 3))),
    lambda m: m.distributions.CorrCholeskyTransform().inverse_shape(m.Size((2,))),
    lambda m: m.distributions.SoftmaxTransform().forward_shape(m.Size(())),
    lambda m: m.distributions.StickBreakingTransform().log_abs_det_jacobian(m.zeros(3)),
    lambda m: m.distributions.transforms.Transform()(m.zeros(3)),
    lambda m: m.distributions.transforms.Transform().sign,
    lambda m: m.distributions.CorrCholeskyTransform().event_dim,
    lambda m: m.distributions.constraints.cat([1]),
    lambda m: m.distributions.constraints.cat([m.distributions.constraints.real], lengths=[1, 2]),
    lambda m: m.distributions.constraints.independent(1, 1),
    lambda m: m.distributions.constraints.independent(m.distributions.constraints.real, 1.5),
    lambda m: m.distributions.constraints.independent(m.distributions.constraints.real, -1),
    lambda m: m.distributions.constraints.MixtureSameFamilyConstraint(3),
    lambda m: m.distributions.constraints.Constraint().check(m.zeros(2)),
    lambda m: m.distributions.biject_to(m.distributions.constraints.lower_cholesky),
    lambda m: m.distributions.biject_to.register("positive", lambda c: None),
    lambda m: m.distributions.utils.vec_to_tril_matrix(m.zeros(4)),
    lambda m: m.distributions.utils.tril_matrix_to_vec(m.zeros(3, 3), 3),
    lambda m: m.distributions.utils.broadcast_all(1.0, "a"),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(WRONG)))
def test_wrong_transforms_and_constraints(place):
    ours, theirs = (outcome(lambda m=m: WRONG[place](m)) for m in MODULES)
    assert theirs[0] != "value"
    assert ours == theirs


UTILITIES = [
    lambda m: m.distributions.utils.broadcast_all(m.ones(2, 1), m.zeros(3))[1],
    lambda m: m.distributions.utils.broadcast_all(1, m.zeros(3, dtype=m.float64))[0],
    lambda m: m.distributions.utils.broadcast_all(True, 2)[0],
    lambda m: m.distributions.utils.logits_to_probs(m.tensor([[0.0, 1.0], [2.0, -1.0]])),
    lambda m: m.distributions.utils.logits_to_probs(m.tensor([0.0, 1.0]), is_binary=True),
    lambda m: m.distributions.utils.probs_to_logits(m.tensor([0.0, 0.3, 1.0])),
    lambda m: m.distributions.utils.probs_to_logits(m.tensor([0.0, 0.3, 1.0]), is_binary=True),
    lambda m: m.distributions.utils.clamp_probs(m.tensor([0.0, 0.3, 1.0], dtype=m.float64)),
] + [
    lambda m, d=d: m.distributions.utils.tril_matrix_to_vec(m.arange(18.0).reshape(2, 3, 3), d) for d in range(-3, 3)
] + [
    lambda m, d=d, n=n: m.distributions.utils.vec_to_tril_matrix(m.arange(2.0 * n).reshape(2, n), d)
    for d, n in ((-2, 1), (-2, 3), (-1, 1), (-1, 3), (0, 1), (0, 3), (0, 6), (1, 5), (2, 6))
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(UTILITIES)))
def test_utilities(place):
    same(UTILITIES[place], place, 1)


def test_a_registered_transform():
    for m in MODULES:
        registry = m.distributions.constraint_registry.ConstraintRegistry()

        @registry.register(m.distributions.constraints.positive)
        def square(constraint, m=m):
            return m.distributions.PowerTransform(2.0)

        assert type(registry(m.distributions.constraints.greater_than(3.0))).__name__ == "PowerTransform"
        assert numbers(registry(m.distributions.constraints.positive)(m.tensor(3.0))) == 9
    assert share(np.random.default_rng(0), 2).max() < 1
