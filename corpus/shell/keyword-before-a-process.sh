[[<( a == $aste a b) ]]
