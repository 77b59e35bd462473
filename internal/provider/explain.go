package provider

// Explain words a code of Parse: what happened and what to do, in English and in
// Chinese.
func Explain(code string, english, chinese [2]string) Explanation {
	return Explanation{Code: code, Means: Bilingual{english[0], chinese[0]}, Fix: Bilingual{english[1], chinese[1]}}
}

// ExplainFiner words a code that only an examination finds.
func ExplainFiner(code string, english, chinese [2]string) Explanation {
	e := Explain(code, english, chinese)
	e.Finer = true
	return e
}
