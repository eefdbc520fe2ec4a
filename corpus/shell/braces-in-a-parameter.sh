evil1 {a,b${x:-,{c,d}} {}
