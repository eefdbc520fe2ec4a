x ${!#i};cd||exit
>y
