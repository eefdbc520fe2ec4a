sort -o - a/f
