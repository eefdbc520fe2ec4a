HOME='a[$(2)]'&&[[ HOME -eq 2 ]]
