//! A moment that a person names: how long ago it is, or its date.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Units of durations, with their milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", DAY_MS),
    ("w", 7 * DAY_MS),
];

/// The moment in milliseconds since the Unix epoch.
///
/// # Errors
/// The text is neither a duration nor a date.
pub(crate) fn since(text: &str) -> Result<u64, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_millis();
    let now = u64::try_from(now).unwrap_or(u64::MAX);
    let moment = ago(text).map(|ago| now.saturating_sub(ago));
    moment.or_else(|| date(text)).ok_or_else(|| {
        "use how long ago (`90m`, `12h`, `30d`, `4w`) or a date (`2026-01-31`, \
         `2026-01-31T08:30:00Z`)"
            .to_owned()
    })
}

/// A moment as people read it, in UTC: `2026-01-31 08:30:00`.
pub(crate) fn moment(ms: u64) -> String {
    let (mut days, of_day) = (ms / DAY_MS, ms % DAY_MS / 1_000);
    let (mut year, mut month) = (1970, 1);
    let length = |year| 365 + u64::from(is_leap(year));
    while days >= length(year) && year < 9999 {
        days -= length(year);
        year += 1;
    }
    while month < 12 && days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let day = days + 1;
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

fn ago(text: &str) -> Option<u64> {
    let (unit, factor) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    number(text.strip_suffix(unit)?)?.checked_mul(*factor)
}

/// A day of the calendar, in UTC, perhaps with a time.
fn date(text: &str) -> Option<u64> {
    let (day, time) = match text.split_once('T') {
        Some((day, time)) => (day, time.strip_suffix('Z')?),
        None => (text, "00:00:00"),
    };
    let [year, month, day] = numbers(day, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    if !(1970..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=days_in(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let years = (1970..year).map(|year| 365 + u64::from(is_leap(year)));
    let months = (1..month).map(|month| days_in(year, month));
    let days = years.sum::<u64>() + months.sum::<u64>() + day - 1;
    Some(days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1_000)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn numbers(text: &str, mark: char) -> Option<[u64; 3]> {
    let parts = text.split(mark).map(number).collect::<Option<Vec<_>>>()?;
    parts.try_into().ok()
}

/// Digits alone: no sign, no space.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2026-01-31", 1_769_817_600),
            ("2026-01-31T08:30:01Z", 1_769_848_201),
            ("2024-12-31", 1_735_603_200),
        ] {
            assert_eq!(date(text), Some(seconds * 1_000), "{text}");
        }
    }

    #[test]
    fn durations_are_counted_back_from_now() {
        assert_eq!(ago("30d"), Some(30 * DAY_MS));
        assert_eq!(ago("2w"), Some(14 * DAY_MS));
        assert_eq!(ago("90m"), Some(5_400_000));
        let (far, near) = (since("2h").unwrap(), since("1h").unwrap());
        assert!((3_590_000..3_610_000).contains(&(near - far)));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "",
            "d",
            "-1d",
            "1.5d",
            "1y",
            "yesterday",
            "2026-02-30",
            "2026-13-01",
            "2026-1",
            "2026-01-31T25:00:00Z",
            "2026-01-31T08:30:00",
            "99999999999999999999d",
            "1969-12-31",
        ] {
            since(text).unwrap_err();
        }
    }
}
