package verdict

var (
	negators = set("not", "never", "no", "without", "cannot", "neither", "nor", "nobody", "none", "nowhere", "hardly", "scarcely", "rarely", "seldom")

	// adverbs deny the verb that they stand right before.
	adverbs = set("never", "hardly", "scarcely", "rarely", "seldom")

	// untrue before "that" negates the whole clause behind it; so does a negation of affirmed.
	untrue   = set("false", "untrue", "incorrect", "wrong", "mistaken", "inaccurate", "invalid")
	outdated = set("outdated", "obsolete", "superseded", "expired", "old", "rejected")
	// fables before "that" do so too; disputes leave it open.
	fables   = set("myth", "misconception", "fallacy", "rumour", "rumor", "lie") //nolint:misspell // both spellings are answered with
	disputes = set("doubt", "doubts", "doubted", "deny", "denies", "denied", "dispute", "disputes", "disputed")
	// restrictions stand behind the value that they are of; what was abolished holds no more.
	restrictions = set("rule", "limit", "period", "deadline", "policy", "window", "requirement", "cap", "restriction", "maximum", "minimum", "fee", "surcharge")
	abolished    = set("abolished", "lifted", "scrapped", "dropped", "removed", "discontinued", "repealed", "eliminated", "withdrawn", "cancelled", "canceled")

	affirmed = set("true", "correct", "right", "accurate", "case")

	// doubts under a negation leave open what is behind them: "does not say that", "no evidence that", "cannot confirm".
	// Another clause has to follow: "not confirmed within 30 days" leaves nothing open.
	doubts = set("say", "says", "said", "state", "states", "stated", "mention", "mentions", "mentioned", "confirm", "confirmed", "specify", "specifies",
		"know", "indicate", "indicates", "think", "believe", "suggest", "imply", "mean", "guarantee", "verify", "determine", "sure", "certain",
		"clear", "evidence", "indication", "proof", "mentioning", "find", "found", "see", "tell", "locate", "establish", "ascertain", "assume", "expect", "idea",
		"information")

	doubtful = set("that", "whether", "if", "the", "it", "there", "this", "what", "how", "explicitly", "you", "they", "we", "he", "she", "i")
	// findings leave open only what a "that" or a "whether" introduces: "cannot find whether", but not "does not find the form".
	findings = set("evidence", "indication", "proof", "mention", "guarantee", "find", "found", "see", "tell", "locate", "idea", "information", "expect")

	// unclear before "whether" leaves open what is behind it.
	unclear = set("unclear", "uncertain", "unknown", "unsure", "undecided", "questionable", "doubtful", "unlikely")

	// joiners go on with another clause, of which a doubt before them says nothing.
	joiners = set("but", "and", "yet", "so", "because", "since", "while", "although", "though", "which", "who", "whereas", "however", "instead",
		"then", "therefore")

	// absolutes behind "no" deny the whole clause: "under no circumstances".
	absolutes = set("circumstances", "circumstance", "way", "account")

	// persons behind "no" are a subject that nobody is: "no employee gets".
	persons = set("employee", "employees", "staff", "guest", "guests", "person", "people", "member", "members", "customer", "customers", "user", "users",
		"manager", "managers", "worker", "workers", "visitor", "visitors", "passenger", "passengers", "student", "students", "traveller", "travellers",
		"applicant", "applicants", "contractor", "contractors", "trainee", "trainees")

	// limits turn a negation into a bound that still states the value: not later than, not before, must not exceed.
	limits = set("than", "before", "until", "till", "after", "beyond", "exceed", "exceeds", "exceeding", "exceeded", "over", "above",
		"under", "below", "past", "only", "just", "merely", "simply", "unless", "except",
		"mehr", "weniger", "länger", "später", "früher", "höher", "über", "nur", "bloß", "überschreiten", "plus", "moins", "tard", "tôt", "seulement", "dépasse",
		"dépasser", "excède", "más", "menos", "tarde", "antes", "solo", "sólo", "después", "exceder", "supera", "superar", "più", "meno", "oltre", "prima", "dopo",
		"soltanto", "apenas", "só", "depois", "meer", "minder", "later", "eerder", "langer", "alleen", "boven", "więcej", "mniej", "później", "wcześniej",
		"tylko", "przekracza", "dłużej", "mer", "mindre", "bara", "endast", "längre", "över", "более", "менее", "больше", "меньше", "позднее", "позже",
		"раньше", "ранее", "только", "превышает", "превышать", "свыше", "выше")

	// exceptions stand before what is not meant; quantities and dates also have valueExceptions.
	exceptions      = rows("anything but, everything but, all but, other than, as opposed to, far from, contrary to")
	valueExceptions = rows("except, except for, excepting, excluding, apart from, aside from, save for, with the exception of")

	// crosses deny what stands before or behind them.
	crosses = set("\u274c", "\u2717", "\u2718", "\u274e", "\u2716")

	// noes answer a question or fill a field.
	noes = set("no", "nope", "false", "wrong", "incorrect", "untrue", "never", "none", "nein", "non", "não", "nee", "nej", "nei", "нет", "nie", "否", "不", "\u274c", "\u2717", "\u2718", "\u274e", "\u2716")

	// alls stand before an exception from them.
	alls = set("all", "every", "everywhere", "everyone", "everybody", "everything", "any", "each")

	failing = set("ceased", "ceases", "fails", "failed", "fail", "refuses", "refused", "refuse", "unable", "declined", "declines")
	regrets = set("unfortunately", "sadly", "regrettably", "actually", "sorry")

	// prefixes before a hyphen turn a word round: non-refundable.
	prefixes = set("un", "non", "in", "im", "ir", "dis", "anti", "de", "mis", "ex", "not")

	// openers begin another clause, or a part of the sentence that a negation before it does not govern.
	openers = set("but", "and", "yet", "so", "because", "since", "while", "although", "though", "if", "when", "which", "who", "that",
		"where", "whereas", "however", "instead", "then", "therefore",
		"sondern", "aber", "mais", "sino", "pero", "ma", "bensì", "mas", "maar", "utan", "men", "lecz", "ale", "а", "но", "而")

	beForms     = set("is", "are", "was", "were", "am", "be", "been", "being")
	auxiliaries = set("is", "are", "was", "were", "am", "has", "have", "had", "do", "does", "did", "will", "would", "shall", "should",
		"can", "could", "may", "might", "must", "need")
	finite = set("is", "are", "was", "were", "has", "had", "does", "did", "will", "would", "shall", "should", "can", "could", "may",
		"might", "must", "applies", "gets", "receives", "takes", "starts", "begins", "costs", "needs", "includes", "lasts", "ends",
		"remains", "becomes", "means", "equals")
	bareVerbs = set("get", "receive", "have", "need", "pay", "apply", "take", "start")

	// light words may stand between a bare "not" or "without" and what it governs: "not from the 1st".
	light = set("the", "a", "an", "from", "on", "in", "at", "for", "of", "to", "by", "as", "about", "around", "approximately",
		"exactly", "be", "within", "during", "with", "into", "any", "all", "every", "or", "always", "necessarily", "even", "yet", "quite", "nearly")

	// persona before a verb begins a clause; owning before "no" makes it one about what is owned.
	persona = set("it", "he", "she", "they", "we", "you", "i")
	owning  = set("with", "have", "has", "had", "having", "of")

	subjects = set("it", "he", "she", "they", "we", "you", "i", "that", "this", "there", "the")

	// denials behind "X is not" and "X does not" deny X itself; "30 days is not negotiable" does not.
	denials = set("the", "correct", "right", "true", "accurate", "valid", "allowed", "permitted", "applicable", "effective", "available",
		"mentioned", "specified", "stated", "given", "listed", "found", "supported", "confirmed",
		"covered", "included", "reimbursed", "reimbursable", "possible", "enough", "sufficient", "required", "in", "what", "when",
		"apply", "count", "exist", "hold", "longer", "refundable", "refunded", "accepted", "approved", "valid", "legal", "real", "yet",
		"richtig", "korrekt", "wahr", "gültig", "zutreffend", "erlaubt", "möglich", "mehr", "juist", "correct", "exact", "vrai", "valable", "possible", "correcto", "cierto",
		"válido", "válida", "corretto", "vero", "valido", "correto", "certo", "верно", "правильно", "prawda", "poprawne", "rätt", "korrekta")
)
