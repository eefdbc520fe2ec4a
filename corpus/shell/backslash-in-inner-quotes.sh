echo "${x:-"$\(evil1)"}" "$x:-'$(evil2)'}" ${x:-'$(no)'}
