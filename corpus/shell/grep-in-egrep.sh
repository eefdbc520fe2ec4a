/bin/egrep foo x
