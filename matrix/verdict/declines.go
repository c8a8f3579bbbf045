package verdict

import (
	"fmt"
	"slices"
	"sync"

	"github.com/culprit-rag/culprit/matrix"
)

// longestRefusal is how many words and marks an answer has at the most that is taken for a refusal without its words being declared.
const longestRefusal = 60

// refusing are words by which systems refuse. No verdict takes them for a refusal: they tell that the declared phrases lack the system's own.
var refusing = sync.OnceValue(func() map[string][]*pattern {
	byFirst := map[string][]*pattern{}
	for _, phrase := range []string{
		"I don't know", "I do not have", "I have no information", "I'm not able to", "I am unable to", "I'm unable to", "I cannot answer", "I can't answer",
		"I cannot help", "I can't help", "I cannot find", "I can't find", "I could not find", "I couldn't find", "I cannot provide", "I can't provide", "I did not find", "I'm not sure",
		"we do not have", "we don't know", "unable to answer", "unable to find", "unable to help", "unable to provide", "cannot be answered", "can't be answered", "cannot be determined",
		"does not contain", "do not contain", "doesn't contain", "don't contain", "does not mention", "do not mention", "doesn't mention", "don't mention",
		"does not provide", "do not provide", "doesn't provide", "don't provide", "does not cover", "do not cover", "doesn't cover", "don't cover", "does not say", "do not say",
		"does not include", "do not include", "does not specify", "do not specify", "is not mentioned", "is not specified", "is not stated", "is not covered",
		"not in the context", "not in the documents", "not in the provided", "no information", "not enough information", "insufficient information", "insufficient context",
		"no relevant", "no answer found", "no results found", "no results were found", "empty response", "outside my knowledge", "beyond the scope", "out of scope",
		"ich weiß nicht", "weiß ich nicht", "kann ich nicht beantworten", "kann ich das nicht beantworten", "kann ich leider nicht", "kann diese Frage nicht", "keine Informationen", "keine Angaben", "nicht beantworten",
		"je ne sais pas", "je ne peux pas", "ne contient pas", "ne contiennent pas", "ne mentionne pas", "aucune information", "pas d'information",
		"no lo sé", "no sé", "no puedo responder", "no contiene", "no contienen", "no se menciona", "ninguna información", "no hay información", "no tengo información",
		"non lo so", "non posso rispondere", "non contiene", "non contengono", "nessuna informazione", "não sei", "não posso responder", "não contém", "não há informações", "nenhuma informação",
		"ik weet het niet", "kan ik niet beantwoorden", "nie wiem", "nie mogę odpowiedzieć", "brak informacji", "jag vet inte", "ingen information", "ved ikke", "nevím", "není uvedeno",
		"не знаю", "нет информации", "не могу ответить", "не содержит", "не содержат", "不知道", "无法回答", "無法回答", "没有相关", "沒有相關", "没有提到", "没有找到", "未提及", "わかりません", "分かりません", "お答えできません", "記載されていません", "情報がありません",
		"모르겠습니다", "답변할 수 없습니다", "정보가 없습니다", "لا أعرف", "لا أعلم", "لا تتوفر", "لا توجد معلومات", "bilmiyorum", "bilgi yok",
	} {
		p, err := newPattern(phrase, readProse)
		if err != nil {
			panic(err) // a phrase of this list without a word
		}
		byFirst[p.tokens[0].text] = append(byFirst[p.tokens[0].text], p)
	}
	return byFirst
})

// undeclaredRefusals says of a case that expects an answer which cells refuse in words that are not declared: no rule sees refusals there.
func (x *facts) undeclaredRefusals() []string {
	var out []string
	for _, cell := range []matrix.CellID{matrix.CellA, matrix.CellB} {
		if c := x.cells[cell]; x.c.Expect == matrix.ExpectAnswer && c.some(declined) {
			out = append(out, fmt.Sprintf("refusal: %s reads like one in %d of %s, in words that pipeline.refusal does not declare", cell, c.count(declined), counted(c.result.Scored, "trial", "trials")))
		}
	}
	return out
}

// declines reports whether an answer reads like a refusal: it is short, holds one of the phrases, and no figure.
func declines(in *prose) bool {
	if len(in.tokens) > longestRefusal || len(in.dates) > 0 || slices.ContainsFunc(in.tokens, func(t token) bool { return t.kind == tokenNumber || t.kind == tokenCode }) {
		return false
	}
	for i := range in.tokens {
		for _, p := range refusing()[in.tokens[i].text] {
			if p.wordsAt(in, i, false) {
				return true
			}
		}
	}
	return false
}
