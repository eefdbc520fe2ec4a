for z in $;do 1 "$((case "" in []);;*)'$(o)';esac))";done
