o `typeset x={,};"$x"`
