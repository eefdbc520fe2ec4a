declare -a n=([2]='a[$(evil1)]' [n[2]]=)
