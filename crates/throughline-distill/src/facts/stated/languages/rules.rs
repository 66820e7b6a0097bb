//! The words and phrases of each language.

use memory::FactKind::{Correction, Decision, Note, Preference};

use super::cjk::PhraseRules;
use super::european::LanguageRules;

#[rustfmt::skip]
pub(super) const GERMAN: LanguageRules = LanguageRules {
    leads: &[
        ("nein, ", Some(Correction)), ("falsch, ", Some(Correction)),
        ("merk dir, dass ", Some(Note)),
        ("merk dir: ", Some(Note)), ("merke dir: ", Some(Note)), ("zur info: ", Some(Note)),
        ("bitte ", None), ("und ", None), ("also ", None), ("wichtig: ", None), ("ok, ", None),
        ("übrigens, ", None),
    ],
    openings: &[
        (" ab sofort ", Preference), (" ab jetzt ", Preference), (" von nun an ", Preference),
        (" von jetzt an ", Preference), (" künftig ", Preference), (" zukünftig ", Preference),
        (" in zukunft ", Preference), (" wir haben beschlossen ", Decision),
        (" wir haben entschieden ", Decision), (" entscheidung , ", Decision),
    ],
    choices: &[
        (" wir verwenden ", Note), (" wir benutzen ", Note), (" wir nutzen ", Note),
        (" verwenden wir ", Note), (" benutzen wir ", Note), (" nutzen wir ", Note),
        (" ich bevorzuge ", Preference), (" ich möchte keine ", Preference),
        (" ich will keine ", Preference), (" ich mag keine ", Preference),
    ],
    articles: &[
        "das", "die", "den", "der", "dem", "es", "sie", "ihn", "diese", "dieses", "diesen",
        "weiteren", "mehr", "noch", "dafür", "dazu",
    ],
    pairs: &[
        (" wir haben uns ", " entschieden ", Decision), (" wir sind ", " umgestiegen ", Decision),
        (" wir sind ", " gewechselt ", Decision), (" bleibt ", " wir haben entschieden ", Decision),
        (" unser ", " läuft auf ", Note), (" unsere ", " läuft auf ", Note),
        (" unsere ", " laufen auf ", Note), (" keine ", " im code ", Preference),
    ],
    always: &["immer", "nie", "niemals", "stets", "grundsätzlich"],
    imperatives: &[
        "achte", "antworte", "benenne", "benutz", "benutze", "committe", "dokumentiere", "erstelle",
        "formatiere", "frag", "frage", "führe", "gib", "halte", "lass", "lasse", "lege", "lösche",
        "mach", "mache", "nenne", "nimm", "nutze", "prüfe", "pushe", "schreib", "schreibe", "setz",
        "setze", "speichere", "starte", "teste", "verwende", "überprüfe", "ändere", "halt",
    ],
    modals: &["muss", "müssen", "darf", "dürfen", "musst", "sollst"],
    is_order: |words| {
        // "Nie direkt auf main pushen": an infinitive at the end, without a subject.
        let is_infinitive = |word: &&str| word.len() > 4 && word.ends_with("en");
        let before_comma = words.split(|word| *word == ",").next().unwrap_or_default();
        let actors = ["ich", "er", "sie", "es", "das", "wird", "werden", "wurde", "wurden", "kann",
            "können", "hat", "haben", "ist", "sind", "soll", "sollen", "wir"];
        before_comma.last().is_some_and(is_infinitive)
            && !before_comma.iter().any(|word| actors.contains(word))
    },
    momentary: &[
        " heute ", " gestern ", " morgen ", " gerade ", " diesmal ", " dieses mal ", " vorerst ",
        " erstmal ", " erst mal ", " im moment ", " für den moment ", " momentan ", " zurzeit ",
        " derzeit ", " immer noch ", " noch immer ", " immer wieder ", " noch nie ",
        " schon wieder ",
        " in dieser datei ", " diese datei ", " dieser datei ", " diese funktion ",
        " in diesem branch ",
        " diesen branch ", " diese zeile ", " warum ", " wieso ", " verstehe nicht ",
        " nie gehört ",
        " nie gesehen ", " button ", " knopf ", " menü ", " dialog ", " fenster ", " überschrift ",
        " tooltip ", " spalte ", " sichtbar ", " angezeigt ", " leer ", " kaputt ", " schlägt ",
        " fehlgeschlagen ", " funktioniert ", " variante ", " nochmal ", " noch einmal ",
        " fehler ",
    ],
};

#[rustfmt::skip]
pub(super) const FRENCH: LanguageRules = LanguageRules {
    leads: &[
        ("non, ", Some(Correction)), ("faux, ", Some(Correction)), ("retiens que ", Some(Note)),
        ("note que ", Some(Note)), ("pour info, ", Some(Note)), ("pour info : ", Some(Note)),
        ("s'il te plaît, ", None), ("et ", None), ("aussi, ", None), ("important : ", None),
        ("ok, ", None),
    ],
    openings: &[
        (" à partir de maintenant ", Preference), (" désormais ", Preference),
        (" dorénavant ", Preference), (" à l'avenir ", Preference), (" on a décidé ", Decision),
        (" nous avons décidé ", Decision), (" on a choisi ", Decision), (" décision ", Decision),
        (" nous avons choisi ", Decision), (" nous sommes passés ", Decision),
        (" on est passé ", Decision), (" on est passés ", Decision),
        (" je ne veux jamais ", Preference),
    ],
    choices: &[
        (" on utilise ", Note), (" nous utilisons ", Note), (" je préfère ", Preference),
        (" je ne veux pas de ", Preference),
    ],
    articles: &[
        "le", "la", "les", "ce", "cette", "cet", "ces", "ça", "encore", "celui", "celle",
        "toujours",
        "que", "aussi",
    ],
    pairs: &[
        (" on utilise ", " dans ce projet ", Note), (" nous utilisons ", " dans ce projet ", Note),
        (" on utilise ", " dans ce dépôt ", Note),
    ],
    always: &["toujours", "jamais", "systématiquement"],
    imperatives: &[
        "ajoute", "ajoutez", "commente", "crée", "demande", "demande-moi", "demandez", "documente",
        "exécute", "exécutez", "fais", "faites", "formate", "garde", "gardez", "lance", "lancez",
        "mets", "mettez", "n'ajoute", "n'utilise", "n'utilisez", "nomme", "place", "range", "relis",
        "respecte", "réponds", "réponds-moi", "suis", "teste", "testez", "travaille", "utilise",
        "utilisez", "vérifie", "vérifiez", "écris", "écrivez", "ne", "n'écris", "n'oublie",
    ],
    modals: &["faut", "doivent", "dois", "devez"],
    is_order: |words| {
        matches!(words, ["toujours" | "jamais", verb, ..] if is_french_infinitive(verb))
    },
    momentary: &[
        " aujourd'hui ", " hier ", " demain ", " cette fois ", " pour l'instant ",
        " pour le moment ",
        " en ce moment ", " tout à l'heure ", " ce fichier ", " cette fonction ", " cette branche ",
        " cette ligne ", " cette variable ", " pourquoi ", " bouton ", " menu ", " titre ",
        " page ",
        " fenêtre ", " liste ", " visible ", " vide ", " cassé ", " échoue ", " plante ",
        " erreur ",
        " marché ", " version ", " variante ", " comprends pas ", " encore ",
    ],
};

#[rustfmt::skip]
pub(super) const SPANISH: LanguageRules = LanguageRules {
    leads: &[
        ("no, ", Some(Correction)), ("recuerda que ", Some(Note)),
        ("ten en cuenta que ", Some(Note)),
        ("para tu información, ", Some(Note)), ("por favor, ", None), ("por favor ", None),
        ("y ", None), ("también ", None), ("importante: ", None), ("ok, ", None),
    ],
    openings: &[
        (" a partir de ahora ", Preference), (" de ahora en adelante ", Preference),
        (" en adelante ", Preference), (" hemos decidido ", Decision), (" decidimos ", Decision),
        (" acordamos ", Decision), (" decisión ", Decision), (" nos pasamos ", Decision),
        (" nos cambiamos ", Decision), (" hemos migrado ", Decision),
    ],
    choices: &[
        (" usamos ", Note), (" utilizamos ", Note), (" prefiero ", Preference),
        (" no quiero ", Preference),
    ],
    articles: &[
        "el", "la", "los", "las", "lo", "este", "esta", "esto", "ese", "esa", "eso", "que",
        "todavía",
        "aún", "también", "perder", "ver", "más",
    ],
    pairs: &[],
    always: &["siempre", "nunca", "jamás"],
    imperatives: &[
        "agrega", "añade", "comprueba", "corre", "crea", "documenta", "ejecuta", "ejecute",
        "escribe",
        "escriba", "formatea", "guarda", "haz", "lanza", "mantén", "nombra", "pon", "pregunta",
        "pregúntame", "prueba", "responde", "respóndeme", "revisa", "sigue", "trabaja", "usa",
        "use",
        "utiliza", "utilice",
    ],
    modals: &["deben", "debes", "hay", "tienen", "tienes"],
    is_order: |words| {
        // "Nunca hagas", "no uses nunca": the subjunctive of the second person ends in -s.
        let ends = |verb: &str, ends: &[&str]| ends.iter().any(|end| verb.ends_with(end));
        let is_subjunctive = |verb: &str| verb.len() > 3 && ends(verb, &["as", "es"]);
        let is_verb = |verb: &str| is_subjunctive(verb) || ends(verb, &["ar", "er", "ir"]);
        matches!(words, ["nunca" | "siempre" | "jamás", verb, ..] if is_verb(verb))
            || matches!(words, ["no", verb, "nunca" | "jamás", ..] if is_subjunctive(verb))
    },
    momentary: &[
        " hoy ", " ayer ", " mañana ", " esta vez ", " por ahora ", " ahora mismo ",
        " por el momento ",
        " de momento ", " acabo de ", " este archivo ", " esta función ", " esta rama ",
        " esta línea ",
        " esa variable ", " esa función ", " por qué ", " botón ", " menú ", " título ", " página ",
        " ventana ", " lista ", " visible ", " vacía ", " vacío ", " falla ", " fallando ",
        " error ",
        " funcionado ", " versión ", " variante ", " entiendo ", " todavía ", " he visto ",
    ],
};

#[rustfmt::skip]
pub(super) const PORTUGUESE: LanguageRules = LanguageRules {
    leads: &[
        ("não, ", Some(Correction)), ("lembre que ", Some(Note)), ("lembre-se que ", Some(Note)),
        ("lembre-se de que ", Some(Note)), ("por favor, ", None), ("por favor ", None),
        ("e ", None), ("também ", None), ("importante: ", None), ("ok, ", None),
    ],
    openings: &[
        (" a partir de agora ", Preference), (" de agora em diante ", Preference),
        (" daqui em diante ", Preference), (" decidimos ", Decision), (" optamos por ", Decision),
        (" migramos para ", Decision), (" decisão ", Decision), (" escolhemos ", Decision),
    ],
    choices: &[
        (" usamos ", Note), (" utilizamos ", Note), (" prefiro ", Preference),
        (" não quero ", Preference),
    ],
    articles: &[
        "o", "a", "os", "as", "este", "esta", "isto", "esse", "essa", "isso", "que", "ainda",
        "também", "mais", "perder", "ver",
    ],
    pairs: &[],
    always: &["sempre", "nunca", "jamais"],
    imperatives: &[
        "adicione", "crie", "documente", "escreva", "execute", "faça", "formate", "mantenha",
        "não", "pergunte", "responda", "rode", "teste", "usa", "use", "utilize", "verifique",
    ],
    modals: &["deve", "devem", "precisa", "precisam"],
    is_order: |words| {
        let is_verb = |verb: &str| {
            verb.len() > 3 && ["ar", "er", "ir"].iter().any(|end| verb.ends_with(end))
        };
        matches!(words, ["sempre" | "nunca" | "jamais", verb, ..]
            if is_verb(verb) || ["use", "faça", "rode", "escreva", "commite"].contains(verb))
    },
    momentary: &[
        " hoje ", " ontem ", " amanhã ", " desta vez ", " por enquanto ", " agora mesmo ",
        " no momento ", " este arquivo ", " esta função ", " esta linha ", " esse arquivo ",
        " por que ", " botão ", " menu ", " título ", " página ", " tela ", " lista ", " vazio ",
        " vazia ", " falha ", " falhando ", " erro ", " versão ", " ainda ", " entendi ",
    ],
};

#[rustfmt::skip]
pub(super) const ITALIAN: LanguageRules = LanguageRules {
    leads: &[
        ("no, ", Some(Correction)), ("ricorda che ", Some(Note)), ("ricordati che ", Some(Note)),
        ("tieni presente che ", Some(Note)), ("per favore, ", None), ("per favore ", None),
        ("e ", None), ("anche ", None), ("importante: ", None), ("ok, ", None),
    ],
    openings: &[
        (" d'ora in poi ", Preference), (" da ora in poi ", Preference),
        (" da adesso in poi ", Preference), (" abbiamo deciso ", Decision),
        (" abbiamo scelto ", Decision), (" siamo passati a ", Decision), (" decisione ", Decision),
    ],
    choices: &[
        (" usiamo ", Note), (" utilizziamo ", Note), (" preferisco ", Preference),
        (" non voglio ", Preference),
    ],
    articles: &[
        "il", "lo", "la", "i", "gli", "le", "questo", "questa", "quello", "quella", "che",
        "ancora", "anche", "perdere", "vedere", "più",
    ],
    pairs: &[],
    always: &["sempre", "mai"],
    imperatives: &[
        "aggiungi", "chiedi", "chiedimi", "crea", "documenta", "esegui", "fai", "formatta",
        "lancia",
        "mantieni", "metti", "non", "rispondi", "scrivi", "testa", "usa", "usate", "usare",
        "utilizza", "verifica",
    ],
    modals: &["deve", "devono", "devi"],
    is_order: |words| {
        let is_verb = |verb: &str| {
            verb.len() > 3 && ["are", "ere", "ire"].iter().any(|end| verb.ends_with(end))
        };
        matches!(words, ["sempre" | "mai", verb, ..] if is_verb(verb))
    },
    momentary: &[
        " oggi ", " ieri ", " domani ", " questa volta ", " per ora ", " per adesso ",
        " al momento ", " questo file ", " questa funzione ", " questa riga ", " perché ",
        " pulsante ", " bottone ", " menu ", " titolo ", " pagina ", " finestra ", " lista ",
        " vuoto ", " vuota ", " fallisce ", " errore ", " versione ", " ancora ", " capisco ",
        " visto ",
    ],
};

#[rustfmt::skip]
pub(super) const DUTCH: LanguageRules = LanguageRules {
    leads: &[
        ("nee, ", Some(Correction)), ("onthoud dat ", Some(Note)), ("onthoud: ", Some(Note)),
        ("ter info: ", Some(Note)), ("graag ", None), ("en ", None), ("ook ", None),
        ("belangrijk: ", None), ("ok, ", None),
    ],
    openings: &[
        (" vanaf nu ", Preference), (" voortaan ", Preference), (" in het vervolg ", Preference),
        (" we hebben besloten ", Decision), (" besluit , ", Decision),
    ],
    choices: &[
        (" we gebruiken ", Note), (" wij gebruiken ", Note), (" gebruiken we ", Note),
        (" ik wil geen ", Preference),
    ],
    articles: &[
        "de", "het", "een", "dit", "dat", "deze", "die", "nog", "hier", "ook", "meer", "hem",
    ],
    pairs: &[
        (" we zijn ", " overgestapt ", Decision), (" we hebben ", " gekozen ", Decision),
    ],
    always: &["altijd", "nooit"],
    imperatives: &[
        "antwoord", "commit", "controleer", "doe", "draai", "gebruik", "geef", "houd", "maak",
        "noem", "push", "schrijf", "test", "verander", "verwijder", "voeg", "vraag", "wijzig",
        "zet",
    ],
    modals: &["moet", "moeten", "mag", "mogen"],
    is_order: |words| {
        matches!(words, ["altijd" | "nooit", ..])
            && words.last().is_some_and(|word| word.len() > 4 && word.ends_with("en"))
    },
    momentary: &[
        " vandaag ", " gisteren ", " morgen ", " deze keer ", " voorlopig ", " op dit moment ",
        " nu even ", " dit bestand ", " deze functie ", " deze regel ", " waarom ", " knop ",
        " menu ", " titel ", " pagina ", " scherm ", " lijst ", " leeg ", " kapot ", " faalt ",
        " fout ", " versie ", " begrijp ", " nog steeds ", " gezien ",
    ],
};

#[rustfmt::skip]
pub(super) const RUSSIAN: LanguageRules = LanguageRules {
    leads: &[
        ("нет, ", Some(Correction)), ("запомни, что ", Some(Note)), ("запомни: ", Some(Note)),
        ("имей в виду, что ", Some(Note)), ("учти, что ", Some(Note)), ("пожалуйста, ", None),
        ("и ", None), ("также ", None), ("важно: ", None), ("ок, ", None),
    ],
    openings: &[
        (" с этого момента ", Preference), (" отныне ", Preference), (" впредь ", Preference),
        (" мы решили ", Decision), (" мы перешли на ", Decision), (" решение , ", Decision),
        (" мы выбрали ", Decision),
    ],
    choices: &[
        (" мы используем ", Note), (" мы пользуемся ", Note), (" я предпочитаю ", Preference),
        (" мы не используем ", Preference),
    ],
    articles: &["этот", "эту", "это", "его", "её", "их", "ещё", "еще", "тут", "там", "один"],
    pairs: &[],
    always: &["всегда", "никогда"],
    imperatives: &[
        "документируй", "делай", "добавляй", "запускай", "используй", "используйте", "не",
        "отвечай", "пиши", "пишите", "проверяй", "создавай", "спрашивай", "тестируй",
        "форматируй", "храни",
    ],
    modals: &["должен", "должна", "должны", "должно", "нужно", "надо", "нельзя"],
    is_order: |words| match words {
        ["всегда", verb, ..] | ["никогда", "не", verb, ..] => {
            ["й", "йте", "и", "ите", "ть"].iter().any(|end| verb.ends_with(end))
        }
        _ => false,
    },
    momentary: &[
        " сегодня ", " вчера ", " завтра ", " сейчас ", " пока ", " в этот раз ", " этот файл ",
        " эту функцию ", " эта строка ", " почему ", " кнопка ", " кнопку ", " меню ",
        " заголовок ", " страница ", " окно ", " список ", " пусто ", " пустой ", " падает ",
        " ошибка ", " ошибку ", " версия ", " не понимаю ", " видел ",
    ],
};

fn is_french_infinitive(word: &str) -> bool {
    word.len() > 3 && (word.ends_with("er") || word.ends_with("ir") || word.ends_with("re"))
}

#[rustfmt::skip]
pub(super) const CHINESE: PhraseRules = PhraseRules {
    leads: &[
        ("不对，", Some(Correction)), ("不对,", Some(Correction)), ("不是，", Some(Correction)),
        ("请记住：", Some(Note)), ("请记住", Some(Note)), ("记住：", Some(Note)), ("记住", Some(Note)),
        ("另外，", None), ("还有，", None),
    ],
    phrases: &[
        ("我们决定", Decision), ("我们已经决定", Decision), ("决定：", Decision), ("决定采用", Decision),
        ("我们改用", Decision), ("我们已经改用", Decision), ("我们已经迁移到", Decision),
        ("从现在起", Preference), ("从现在开始", Preference), ("今后", Preference), ("以后请", Preference),
        ("以后都", Preference), ("以后不要", Preference), ("永远不要", Preference), ("绝不要", Preference),
        ("绝对不要", Preference), ("千万不要", Preference), ("一律", Preference), ("请始终", Preference),
        ("请总是", Preference), ("始终使用", Preference), ("总是使用", Preference), ("统一使用", Preference),
        ("统一用", Preference), ("务必先", Preference), ("禁止在", Preference), ("严禁", Preference),
        ("必须使用", Preference), ("必须先问", Preference), ("必须经过", Preference),
        ("本项目使用", Note), ("这个项目使用", Note), ("这个项目用", Note), ("我们使用", Note),
        ("我们用", Note), ("我们这里用", Note), ("我更喜欢", Preference), ("我偏好", Preference),
    ],
    orders: &[
        (&["每次", "之前", "提交前", "以后"], &["都要", "都用", "必须", "务必"]),
        (&["不要用", "不要使用"], &["要用", "改用", "而是用", "请用"]),
    ],
    momentary: &[
        "吗", "呢", "这次", "今天", "昨天", "明天", "暂时", "刚才", "刚刚", "现在更新", "现在这样",
        "这个文件", "这个函数", "这一行", "这个按钮", "按钮", "菜单", "标题", "报错", "错误", "失败",
        "为什么", "怎么", "帮我", "检查一下", "看一下", "看看", "显示", "可见", "方案", "第一个", "第二个",
        "版本", "用到", "还用",
    ],
};

#[rustfmt::skip]
pub(super) const JAPANESE: PhraseRules = PhraseRules {
    leads: &[
        ("いいえ、", Some(Correction)), ("違います、", Some(Correction)),
        ("覚えておいてください：", Some(Note)), ("覚えておいてください。", Some(Note)),
        ("覚えておいて：", Some(Note)), ("また、", None), ("あと、", None),
    ],
    phrases: &[
        ("ことにしました", Decision), ("ことに決めました", Decision), ("ことになりました", Decision),
        ("に決定しました", Decision), ("に移行しました", Decision), ("を採用しました", Decision),
        ("を使っています", Note), ("を使用しています", Note), ("は禁止", Preference),
    ],
    orders: &[(
        &["常に", "必ず", "決して", "絶対に", "今後", "これからは", "毎回", "以後"],
        &["ください", "こと", "禁止", "べき", "ましょう"],
    )],
    momentary: &[
        "今回", "今日", "昨日", "明日", "さっき", "とりあえず", "一旦", "今は", "もう一度",
        "このファイル", "この関数", "この行", "この変数", "ボタン", "メニュー", "タイトル", "画面",
        "表示", "エラー", "失敗", "なぜ", "壊れ", "案", "まだ", "リスト",
    ],
};
