package verdict

import (
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestDeclines holds refusals in words that no experiment declares against answers that hold such words and state something.
func TestDeclines(t *testing.T) {
	t.Parallel()
	k, err := NewChecker(&matrix.Case{ID: "x", Expect: matrix.ExpectAbstain, Claims: []matrix.Claim{{ID: "c", Never: []string{"free of charge"}}}}, []string{"No comment"})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]bool{
		"Empty Response": true,
		"I’m sorry, but the provided documents do not contain this information.":  true,
		"Unfortunately, I **cannot answer** that question.":                       true,
		"The context doesn't mention who wrote it. Please ask your manager.":      true,
		"Leider kann ich das nicht beantworten.":                                  true,
		"Das weiß ich leider nicht, die Unterlagen enthalten keine Angaben dazu.": true,
		"Je ne sais pas.": true,
		"Lo siento, no tengo información sobre eso.": true,
		"Non lo so.": true,
		"Não sei.":   true,
		"К сожалению, я не знаю.":                               true,
		"抱歉，我无法回答这个问题。":                                         true,
		"申し訳ありませんが、わかりません。":                                     true,
		"죄송하지만, 모르겠습니다.":                                        true,
		"لا أعرف":                                               true,
		"No comment.":                                           false, // it is declared
		"":                                                      false,
		"It is by Smetana.":                                     false,
		"I don't know exactly, but the fee is 60 crowns.":       false,
		"The handbook does not say so, yet it starts on 1 May.": false,
		"The documents do not contain it [c01].":                false,
		"I don't know of any fee: it is free of charge.":        false,
		"Know that the documents are stored in the archive.":    false,
		"The boat does not cover the dock.":                     true, // by its words alone; the label is inferred
	} {
		if got := k.Check(answer, []matrix.Packed{{Position: 1, ID: "c01"}}).Declines; got != want {
			t.Errorf("%q: declines %v", answer, got)
		}
	}
}
