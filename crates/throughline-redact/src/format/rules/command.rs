//! Passwords as commands, credential files and SQL take them. What people choose counts as well.

use super::{BodyKind, FormatRule, rule};

#[rustfmt::skip] // Packed: a rule is read as a unit, and rustfmt would give each string a line.
pub(super) const RULES: &[FormatRule] = &[
    rule("curl-user", &["curl"], concat!(
            r#"(?i)curl(?:\.exe)?\b(?:[^\n|;]|\\\s*\n){0,400}?\s(?:-u|-U|--user|--proxy-user)[ =]"#,
            r#"?["']?[^\s:"'$]{1,64}:["']?([^\s"']{4,})"#
        ), &["curl -u root:Rk{w8}%12 https://ci.test/api"], &["curl -u $USER:$PASS https://ci.test",
        "curl -u user:password https://ci.test"]).body(BodyKind::HumanChosen),
    rule("command-password", &["sshpass"], r#"sshpass\s+-p\s*["']?([^\s"']{4,})"#,
        &["sshpass -p 'Lim{w8}?' ssh a@b"],
        &["sshpass -p $PASS ssh a@b"]).body(BodyKind::HumanChosen),
    rule("command-password", &["mysql", "mariadb"],
        r#"(?:mysql|mariadb)[a-z]*\b[^\n|;]{0,300}?\s-p["']?([^\s"'=-][^\s"']{3,})"#,
        &["mysql -h db -u me -p{w12} app"], &["mysql -u root -p app",
        "mysql -port 3306"]).body(BodyKind::HumanChosen),
    rule("command-password", &["mongo", "login -", "sqlcmd", "ldap", "cqlsh", "ssh-keygen",
        "rabbitmqadmin", "tabcmd", "smbclient"], concat!(
            r#"(?:mongo[a-z]*|login|sqlcmd|ldap[a-z]+|cqlsh|ssh-keygen|rabbitmqadmin|tabcmd|smbcl"#,
            r#"ient)\b[^\n|;]{0,300}?\s-[pPwN][ =]?["']?([^\s"'-][^\s"']{3,})"#
        ), &["docker login -u acme -p {w16} registry.test",
        "mongosh mongodb://h -u admin -p Qz{w9}"], &["docker login -u acme --password-stdin",
        "login -p $PASSWORD"]).body(BodyKind::HumanChosen),
    rule("command-password", &["redis-cli"],
        r#"redis-cli\b[^\n|;]{0,200}?\s(?:-a|--pass)[ =]?["']?([^\s"']{4,})"#,
        &["redis-cli -h r -a {w12} ping"], &["redis-cli -a $REDIS"]).body(BodyKind::HumanChosen),
    rule("command-password", &["7z", "zip ", "unzip ", "unrar ", "rar "], concat!(
            r#"(?:7z[ar]?|zip|unzip|unrar|rar)\b[^\n|;]{0,200}?\s-[pP]\s?["']?([^\s"'-][^\s"']{3,"#,
            r#"})"#
        ), &["7z x backup.7z -p{w14}", "zip -P {w12} a.zip b"], &["unzip -p a.zip file.txt",
        "zip -P $PW a.zip"]).body(BodyKind::HumanChosen),
    rule("command-password", &["ConvertTo-SecureString"],
        r#"ConvertTo-SecureString\s+(?:-String\s+)?\\?["']([^"'\n]{4,64}?)\\?["']"#,
        &["ConvertTo-SecureString \"4y{w12}~\" -AsPlainText",
        "ConvertTo-SecureString -String 'Qz{w9}!' -Force"],
        &["ConvertTo-SecureString $env:PASS -AsPlainText"]).body(BodyKind::HumanChosen),
    rule("command-password", &["::add-mask::"], r"::add-mask::([^\s$]{6,})",
        &["echo ::add-mask::Tk{w12}"], &["::add-mask::$TOKEN"]).body(BodyKind::HumanChosen),
    rule("command-password", &["htpasswd"],
        r#"htpasswd\s+-\w*b\w*\s+(?:[\w./-]+\s+)?[\w.@-]+\s+["']?([^\s"']{4,})"#,
        &["htpasswd -bc .htpasswd admin Tu{w10}#"],
        &["htpasswd -c .htpasswd admin"]).body(BodyKind::HumanChosen),
    rule("command-password", &["net use", "NET USE", "Net use"],
        r"(?i)net user?\s+\S+\s+(?:\\{1,2}\S+\s+)?([^\s/]\S{4,})\s",
        &[r"net use Z: \\srv\share Ro{w8}29? /user:acme"],
        &["net use Z: /delete "]).body(BodyKind::HumanChosen),
    rule("command-password", &["chpasswd"],
        r#"echo\s+(?:-\w+\s+)?["']?[\w.-]+:([^\s"']{4,})["']?\s*\|\s*(?:sudo\s+)?chpasswd"#,
        &["echo \"admin:P3{w8}\" | chpasswd"],
        &["echo user:$PW | chpasswd"]).before(160).body(BodyKind::HumanChosen),
    rule("command-password", &["sudo -S", "--password-stdin", "passwd --stdin", "sudo --stdin"],
        concat!(
            r#"echo\s+(?:-\w+\s+)?["']?([^\s"'|]{5,})["']?\s*\|\s*(?:sudo\b[^|\n]*-S|sudo --stdin"#,
            r#"|[a-z-]+ login\b|passwd)"#
        ), &["echo 'Me{w8}!4' | sudo -S apt-get update"],
        &["echo $PW | sudo -S ls"]).before(200).body(BodyKind::HumanChosen),
    rule("expect-password", &["expect ", ".expect(", ".expect_exact("], concat!(
            r#"\.?expect(?:_exact)?[ (]+(?:-(?:re|exact) +)?["'{][^"'}\n]{0,60}ass(?:word|phrase|"#,
            r#"code)[^"'}\n]{0,20}["'}]\)?[;\s]+(?:\w+\.)?send(?:line)?[ (]+(?:-- +)?["'{]([^"'}\"#,
            r#"s\\]{4,})"#
        ), &["expect \"*?assword:*\"\nsend -- \"Hq{w8}\\r\"",
        "child.expect('password:')\nchild.sendline('Hq{w8}')"],
        &["expect \"password:\"\nsend \"$password\\r\""]).body(BodyKind::HumanChosen),
    rule("sql-password", &["identified by", "identified with", "IDENTIFIED BY", "IDENTIFIED WITH"],
        r#"(?i)identified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?["']([^"'\n]{4,})["']"#,
        &["CREATE USER 'a'@'%' IDENTIFIED BY '{w14}';"],
        &["identified by 'password'"]).body(BodyKind::HumanChosen),
    rule("netrc-password", &[" login ", "\nlogin "],
        r"machine\s+\S+\s+login\s+\S+\s+password\s+(\S{4,})",
        &["machine api.test login me password Ln{w8}$5"],
        &["machine learning login page password field"]).before(120).body(BodyKind::HumanChosen),
    rule("pgpass-password", &[":5432:", ":3306:", ":1433:", ":5433:", ":6432:"],
        r"[\w.*-]+:(?:5432|3306|1433|5433|6432):[\w*-]+:[\w.@*-]+:([^\s:]{4,})",
        &["db.internal:5432:app:admin:{w16}"],
        &["db:5432:app:admin"]).before(64).body(BodyKind::HumanChosen),
    rule("sqlplus-password", &["sqlplus", "sqlldr", "impdp", "expdp", "jdbc:oracle"],
        r"(?:sqlplus|sqlldr|impdp|expdp|jdbc:oracle:\w+:)\s*(?:-\w+\s+)*[\w$#]+/([^\s@/]{4,})@",
        &["sqlplus scott/Ti{d2}{w6}@orcl"], &["sqlplus / as sysdba"]).body(BodyKind::HumanChosen),
    rule("rdp-password", &["xfreerdp", "rdesktop", "mstsc"],
        r#"(?:xfreerdp|rdesktop|mstsc)\b[^\n|;]{0,200}?\s(?:/p:|-p\s+)["']?([^\s"']{4,})"#,
        &["xfreerdp /u:me /p:Zk{w8} /v:h"], &["xfreerdp /v:host"]).body(BodyKind::HumanChosen),
    rule("wifi-password", &["wpa_passphrase"], r#"wpa_passphrase\s+\S+\s+["']?([^\s"']{8,})"#,
        &["wpa_passphrase home Qt{w8}"], &["wpa_passphrase home"]).body(BodyKind::HumanChosen),
    rule("smb-password", &["-U "], r#"-U\s+["']?[\w.\\/-]+%([^\s"']{4,})"#,
        &["smbclient //s/x -U me%Tk{w8}"], &["psql -U postgres"]).body(BodyKind::HumanChosen),
    rule("seed-phrase", &["mnemonic", "Mnemonic", "MNEMONIC", "seed phrase", "Seed phrase",
        "SEED_PHRASE", "recovery phrase", "seed_phrase", "secret phrase", "Recovery phrase"],
        concat!(
            r#"(?i)(?:mnemonic|(?:seed|recovery|secret)[ _]phrase)[\w"' ]{0,20}[:=\s]+["']?((?:[a"#,
            r#"-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b"#
        ), &[concat!(
            "MNEMONIC=\"alter asthma arctic about admit advance auction angle adjust alone apple a",
            "pril\""
        )], &["mnemonic for the opcode is add"]).body(BodyKind::PatternOnly),
];
