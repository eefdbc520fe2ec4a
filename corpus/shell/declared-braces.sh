typeset x={,};"$x"
