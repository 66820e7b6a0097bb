//! The name of a service directly before a random value: `mixpanel 3f9c…`, `cloudflare: "…"`.
//!
//! The name of the service announces the key where no word such as `token` does. Names that are
//! also words are left out, as are services whose tools print hashes (forges, registries).

use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

/// In lower case. The scanner adds the capitalised spellings.
#[rustfmt::skip]
pub(crate) const LITERALS: &[&str] = &[
    "abstractapi", "accuweather", "adafruit", "aftership", "agora", "ahrefs", "airbrake",
    "airship", "airtable", "airvisual", "aiven", "alchemy", "alegra", "algolia", "alibaba",
    "alphavantage", "amadeus", "amplitude", "anthropic", "apideck", "apiflash", "apilayer",
    "apimatic", "apimetrics", "apitemplate", "appcues", "appfollow", "appoptics", "appsflyer",
    "appsynergy", "apptivo", "artsy", "asana", "assemblyai", "atlassian", "audd", "auth0",
    "autodesk", "autopilot", "aviationstack", "aylien", "ayrshare", "bannerbear", "baremetrics",
    "beamer", "beebole", "besnappy", "bitbar", "bitfinex", "bitmex", "bittrex", "blablabus",
    "blazemeter", "blocknative", "bombbomb", "braintree", "brandfetch", "browserstack",
    "browshot", "bscscan", "buddyns", "bugherd", "bugsnag", "buildkite", "bulbul", "bulksms",
    "buttercms", "caflou", "calendarific", "calendly", "calorieninja", "campayn", "cannyio",
    "capsulecrm", "captaindata", "carboninterface", "cashboard", "caspio", "censys",
    "centralstationcrm", "cexio", "chartmogul", "chatfule", "checio", "checklyhq", "checkvist",
    "circleci", "clarifai", "clearbit", "clickhelp", "clicksend", "clickup", "clinchpad",
    "clockify", "closecrm", "cloudant", "cloudelements", "cloudflare", "cloudimage", "cloudinary",
    "cloudmersive", "cloudplan", "cloudsmith", "cloverly", "cloze", "clustdoc", "codacy",
    "codeclimate", "codemagic", "codequiry", "cohere", "coinapi", "coinbase", "coinlayer",
    "coinlib", "collect2", "commercejs", "companyhub", "confluent", "contentful", "contentstack",
    "conversiontools", "convertapi", "convertkit", "convier", "countrylayer", "coveralls",
    "craftmypdf", "crowdin", "cryptocompare", "currencycloud", "currencyfreaks", "currencylayer",
    "currencyscoop", "currentsapi", "customerguru", "customerio", "d7network", "dandelion",
    "databox", "databricks", "datadog", "deepai", "deepgram", "deepseek", "delighted",
    "detectlanguage", "dfuse", "diffbot", "diggernaut", "digitalocean", "discogs", "discord",
    "disqus", "dnscheck", "docparser", "documo", "docusign", "doppler", "dotdigital", "dovico",
    "dronahq", "droneci", "dropbox", "duply", "dwolla", "dynalist", "dynatrace", "dyspatch",
    "eagleeyenetworks", "easyinsight", "ecostruxureit", "edamam", "edenai", "eightxeight",
    "elasticemail", "elevenlabs", "enablex", "endorlabs", "envoyapikey", "etherscan", "ethplorer",
    "eventbrite", "everhour", "exchangerateapi", "exportsdk", "extractorapi", "facebook",
    "faceplusplus", "fastforex", "fastly", "feedier", "fetchrss", "fibery", "figma", "fileio",
    "finage", "financialmodelingprep", "finnhub", "fixerio", "flatio", "flexport", "flickr",
    "flightapi", "flightlabs", "flightstats", "flowflu", "flutterwave", "formcraft", "formsite",
    "foursquare", "frameio", "freshbooks", "freshdesk", "freshworks", "fulcrum", "fullstory",
    "fusebill", "fxmarket", "geckoboard", "gengo", "geoapify", "geocodify", "geocodio", "geoip",
    "geoipifi", "getemail", "getgeoapi", "getgist", "getresponse", "getsandbox", "giphy",
    "glassnode", "gocanvas", "gocardless", "godaddy", "goodday", "goodreads", "graphcms",
    "graphhopper", "groovehq", "gtmetrix", "guardianapi", "gumroad", "gyazo", "happyscribe",
    "hellosign", "helpcrunch", "helpscout", "hereapi", "heroku", "hightouch", "hiveage",
    "holidayapi", "honeycomb", "host2io", "html2pdf", "hubspot", "huggingface", "hybiscus",
    "hypertrack", "iconfinder", "iexapis", "iexcloud", "imagekit", "imagga", "infura",
    "insightly", "instabot", "instamojo", "intercom", "interseller", "intrinio", "invoiceocean",
    "ip2location", "ipapi", "ipgeolocation", "ipinfo", "ipinfodb", "ipquality", "ipstack",
    "jiratoken", "jotform", "jumpcloud", "juro", "kairosapi", "kaleyra", "karmacrm", "keenio",
    "kickbox", "klaviyo", "klipfolio", "kontent", "kraken", "kucoin", "kylas", "languagelayer",
    "launchdarkly", "lemlist", "lemonsqueezy", "lendflow", "lessannoyingcrm", "lexigram",
    "linkedin", "linkpreview", "liveagent", "livestorm", "loadmill", "locationiq", "loggly",
    "loginradius", "logzio", "lokalise", "loyverse", "luno", "madkudu", "magicbell",
    "mailboxlayer", "mailchimp", "mailerlite", "mailgun", "mailjet", "mailmodo", "mailsac",
    "mandrill", "mapbox", "mapquest", "marketstack", "mattermost", "mavenlink", "maxmind",
    "meaningcloud", "mediastack", "meistertask", "mesibo", "messagebird", "metaapi", "metrilo",
    "metabase", "midise", "mindmeister", "miro", "mite", "mixmax", "mixpanel", "mockaroo",
    "moonclerk", "moosend", "moralis", "mrticktock", "myfreshworks", "myintervals",
    "nasdaqdatalink", "nethunt", "netlify", "neutrinoapi", "newrelic", "newsapi", "newscatcher",
    "nexmo", "nftport", "ngrok", "nicereply", "nightfall", "noticeable", "nozbeteams",
    "numverify", "nutritionix", "nylas", "nytimes", "oanda", "okta", "omnisend", "onedesk",
    "onelogin", "onepagecrm", "onesignal", "onfleet", "oopspam", "opencagedata", "opengraphr",
    "openuv", "openweather", "optimizely", "overloop", "owlbot", "packagecloud", "pagarme",
    "pagerduty", "pandadoc", "pandascore", "paperform", "paralleldots", "parsehub", "parseur",
    "partnerstack", "pastebin", "paydirtapp", "paymoapp", "paymongo", "paypal", "paystack",
    "pdflayer", "pdfshift", "peopledatalabs", "pepipost", "pinata", "pipedream", "pipedrive",
    "pivotaltracker", "pixabay", "plaid", "planetscale", "planviewleankit", "planyo", "plivo",
    "podio", "pollsapi", "poloniex", "positionstack", "postageapp", "postbacks", "posthog",
    "postman", "postmark", "powrbot", "privacycom", "prodpad", "prospectcrm", "protocolsio",
    "proxycrawl", "pubnub", "purestake", "pushbullet", "pusher", "qase", "qualaroo", "qubole",
    "quickmetrics", "rapidapi", "rawg", "razorpay", "reachmail", "reallysimplesystems",
    "rebrandly", "rentman", "repairshopr", "replicate", "replyio", "requestfinance", "restpack",
    "revampcrm", "ringcentral", "ritekit", "rocketreach", "roninapp", "route4me", "rownd",
    "runrunit", "salesblink", "salescookie", "salesflare", "salesforce", "salesmate", "saucelabs",
    "scalewaykey", "scalr", "scrapeowl", "scraperapi", "scraperbox", "scrapestack", "scrapfly",
    "scrapingant", "scrapingbee", "screenshotapi", "screenshotlayer", "scrutinizerci",
    "securitytrails", "selectpdf", "sendbird", "sendgrid", "sendinblue", "sentry", "serphouse",
    "serpstack", "sheety", "sherpadesk", "shipday", "shodan", "shopify", "shotstack",
    "shutterstock", "signalwire", "signaturit", "signupgenius", "sigopt", "simfin", "simplesat",
    "simplynoted", "simvoly", "sinchmessage", "sirv", "siteleaf", "skrappio", "skybiometry",
    "slackwebhook", "smartsheets", "smartystreets", "smooch", "snipcart", "snyk", "solarwinds",
    "sonarcloud", "sparkpost", "spectralops", "splunk", "spoonacular", "sportradar", "sportsmonk",
    "squareup", "squarespace", "sslmate", "statuscake", "statuspage", "statuspal", "stitchdata",
    "stockdata", "storecove", "stormboard", "stormglass", "storyblok", "storychief", "strava",
    "stytch", "sugester", "sumologic", "supernotes", "surveyanyplace", "surveybot",
    "surveysparrow", "survicate", "swiftype", "tallyfy", "tatumio", "taxjar", "teamgate",
    "teamworkcrm", "teamworkdesk", "technicalanalysisapi", "tefter", "telegram", "teletype",
    "telnyx", "textmagic", "theoddsapi", "thinkific", "thousandeyes", "ticketmaster",
    "tickettailor", "tiingo", "timecamp", "timezoneapi", "tineswebhook", "tmetric", "todoist",
    "toggltrack", "tomorrowio", "tomtom", "tradier", "transferwise", "travelpayouts", "travisci",
    "trello", "twelvedata", "twilio", "twitch", "twitter", "tyntec", "typeform", "typetalk",
    "ubidots", "uclassify", "unifyid", "unplugg", "unsplash", "upcdatabase", "uplead",
    "uploadcare", "uptimerobot", "upwave", "urlscan", "userflow", "userstack", "vatlayer",
    "vbout", "vercel", "verimail", "veriphone", "versioneye", "viewneo", "virustotal",
    "visualcrossing", "voicegain", "voodoosms", "vouchery", "vpnapi", "vultr", "vyte",
    "walkscore", "weatherbit", "weatherstack", "webex", "webflow", "webscraping", "websitepulse",
    "wepay", "whoxy", "wistia", "worksnaps", "workstack", "worldcoinindex", "worldweather",
    "wrike", "yandex", "yelp", "youneedabudget", "yousign", "youtubeapi", "zapier", "zendesk",
    "zenkit", "zenrows", "zenscrape", "zenserp", "zeplin", "zerobounce", "zerotier", "zipapi",
    "zipbooks", "zipcodeapi", "zipcodebase", "zonka", "zulipchat",
];

const VALUE_BYTES_MIN: usize = 16;

/// Finds the random value directly behind the name at `start..end`.
pub(crate) fn find(
    text: &str,
    start: usize,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    if progress.vendor.skips(start) {
        return;
    }
    let Some((from, to)) = value_after(text, start, end) else {
        return;
    };
    let secret = text[from..to].trim_end_matches(['.', '/']);
    progress.count_work(to - from);
    progress.vendor.record_failure(from, to);
    if value::is_random(secret, VALUE_BYTES_MIN) {
        found.push(Detection {
            rule: "vendor-key",
            confidence: Confidence::Probable,
            start: from,
            end: from + secret.len(),
        });
    }
}

/// Says cheaply whether a value could follow.
pub(crate) fn may_find(text: &str, start: usize, end: usize) -> bool {
    value_after(text, start, end).is_some()
}

fn value_after(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    if start > 0
        && (bytes[start - 1].is_ascii_alphanumeric() || b"/.@-_".contains(&bytes[start - 1]))
    {
        return None;
    }
    let gap = bytes[end..]
        .iter()
        .take(6)
        .take_while(|b| b" \t'\"`:=\\".contains(b))
        .count();
    let from = end + gap;
    let digits = bytes[from..].iter().take(64).filter(|b| b.is_ascii_digit());
    if gap == 0 || digits.count() < 1 {
        return None;
    }
    let len = bytes[from..]
        .iter()
        .take(512)
        .take_while(|b| b.is_ascii_alphanumeric() || b"_-+/=.|".contains(b))
        .count();
    let token = &bytes[from..from + len];
    let is_apart = bytes
        .get(from + len)
        .is_none_or(|b| b.is_ascii_whitespace() || b"'\"`,;)\\".contains(b));
    let digits = token.iter().filter(|b| b.is_ascii_digit()).count();
    let is_mixed =
        token.iter().any(u8::is_ascii_lowercase) && token.iter().any(u8::is_ascii_uppercase);
    let is_odd = digits >= 2 || digits == 1 && is_mixed;
    (gap > 0 && len >= VALUE_BYTES_MIN && is_apart && is_odd).then_some((from, from + len))
}
