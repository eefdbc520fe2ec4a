c=evil1; case x in $((c=5))) exit ;; esac; $c
