case q in q) HOME='a[$(2)]'&&[[ HO\ME -eq 2 ]]
;; esac
