v "$(()&if then case $ in i)case $ in H)" ";esac;esac;fi)"
