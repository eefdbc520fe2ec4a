a='x[$(evil1)]'; n=(a [n[0]]=)
