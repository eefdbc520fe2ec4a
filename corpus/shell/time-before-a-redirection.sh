x=$(time>out20  -p mak>out20 )
