import warnings, rushlight as rl, pytest, traceback
def test_d():
    x = rl.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        def show(m,*a,**k):
            print("WARN", str(m)[:60]); 
            if "divide" in str(m): traceback.print_stack(limit=14)
        warnings.showwarning=show
        with rl.autograd.detect_anomaly():
            y = (x / x.detach()).sum()
            y = (x / x.detach()).sqrt().sum()
            try: y.backward()
            except RuntimeError as e: print(e)

def test_e():
    import re
    x = rl.tensor([0.0], requires_grad=True)
    with pytest.warns(UserWarning) as seen, rl.autograd.detect_anomaly():
        y = (x / x.detach()).sqrt().sum()
        with pytest.raises(RuntimeError, match="nan"):
            y.backward()
    for w in seen: print(w.category, w.filename, w.lineno, str(w.message)[:50])
