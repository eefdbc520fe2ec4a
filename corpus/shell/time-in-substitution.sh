i="$(time case "" in d)'`o`';esac)"
