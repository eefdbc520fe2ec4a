test -v 'a[$(d)]'"$x"
