(for y in ""
do n $y
done)
