dash -c 'eval time'
