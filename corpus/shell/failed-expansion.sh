x ${!i};cd||exit
>$
