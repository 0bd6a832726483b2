"""Pipes of datasets beside PyTorch's."""

import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:(Lambda|Local) function is not supported by pickle")

CALLS = """
list(W())
list(W().map(lambda x:x+1))
list(W([(1,2),(3,4)]).map(lambda x:x+1,input_col=0))
list(W([(1,2),(3,4)]).map(lambda x,y:x+y,input_col=[0,1]))
list(W([(1,2),(3,4)]).map(lambda x:x*9,input_col=0,output_col=1))
list(W([(1,2),(3,4)]).map(lambda x:x*9,input_col=0,output_col=-1))
list(W([{'a':1,'b':2}]).map(lambda x:x*9,input_col='a',output_col='c'))
len(W().filter(lambda x:x%2))
list(W().batch(3))
list(W().batch(3,drop_last=True))
len(W().batch(3)), len(W().batch(3,True)), len(W().map(abs))
list(W().batch(3).unbatch())
list(W([[[1,2]],[[3]]]).unbatch(unbatch_level=-1))
list(W([1]).unbatch())
list(W().batch(2).collate())[0]
list(W().concat(W()))
list(W().zip(W()))
list(W().mux(W()))
list(W().sharding_filter())
W().batch(0)
I.Concater()
W().map(abs)
W().nothing
twice()
list(Own())
list(Own().map(lambda x:-x))
S().map(lambda x:x*2)[3]
list(S().batch(3))
S().batch(3)[2], len(S().batch(3))
S().batch(3,drop_last=True)[2]
S().concat(S())[9]
S().zip(S())[2]
len(S().zip(S()))
S()[10]
[x.tolist() for x in DataLoader(W().map(lambda x:x+1),batch_size=3)]
[x.tolist() for x in DataLoader(S().map(lambda x:x+1),batch_size=3)]
isinstance(W(),torch.utils.data.IterableDataset), isinstance(S(),torch.utils.data.Dataset)
'map' in dir(W())
functional_datapipe('map')(Own)
list(W().filter(lambda x:x%2==1))
list(W([(1,2),(3,0)]).filter(lambda x:x>0,input_col=1))
str(W()), repr(S())
""".strip().splitlines()


def names_in(module):
    """What the expressions of CALLS may name, of one library."""
    data = module.utils.data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipes = data.datapipes

    class Own(data.IterDataPipe):
        def __iter__(self):
            yield from (1, 2, 3)

    def wrapped(values=range(7)):
        return pipes.iter.IterableWrapper(values)

    def twice():
        pipe = wrapped()
        first = iter(pipe)
        next(first)
        next(iter(pipe))
        return next(first)

    return {
        "torch": module, "I": pipes.iter, "M": pipes.map, "W": wrapped, "Own": Own, "twice": twice, "DataLoader": data.DataLoader,
        "S": lambda values=range(7): pipes.map.SequenceWrapper(list(values)), "functional_datapipe": data.functional_datapipe,
    }  # fmt: skip


def told(module, expression):
    """What an expression gives, as text, or the error's type and first line."""
    try:
        return repr(eval(expression, names_in(module)))
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


@pytest.mark.parametrize("expression", CALLS)
def test_same_as_pytorch(expression):
    assert told(rushlight, expression) == told(torch, expression)


def test_filters_ask_for_bools():
    for module in (rushlight, torch):
        with pytest.raises(ValueError, match="Boolean output is required for `filter_fn` of FilterIterDataPipe, got"):
            list(names_in(module)["W"]().filter(lambda x: x % 2))


def test_reset_is_called():
    class Counting(rushlight.utils.data.IterDataPipe):
        resets = 0

        def __iter__(self):
            yield 1

        def reset(self):
            self.resets += 1

    pipe = Counting()
    assert list(pipe) == list(pipe) == [1]
    assert pipe.resets == 2


def test_lambdas_are_told():
    for module in (rushlight, torch):
        for function, kind in ((eval("lambda x: x"), "Lambda"), (lambda x: x, "Local")):
            with pytest.warns(UserWarning, match=f"{kind} function is not supported by pickle"):
                names_in(module)["W"]().map(function)
        with pytest.raises(TypeError, match="A callable function is expected, but <class 'int'> is provided"):
            names_in(module)["W"]().map(3)
