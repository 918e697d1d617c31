// The texts of slides, and of pages that are not lessons.

export const TEACH = {
  en: {
    slides: "Slides", slidesBar: "Slides", slideBefore: "Slide before", slideAfter: "Next slide", slidesEnd: "End slides", slideOf: "{0} of {1}",
    madeRun: "All numbers were computed by simcodesign.", skipRun: "Skip to the figures",
  },
  de: {
    slides: "Folien", slidesBar: "Folien", slideBefore: "Folie davor", slideAfter: "Nächste Folie", slidesEnd: "Folien beenden", slideOf: "{0} von {1}",
    madeRun: "Alle Zahlen hat simcodesign berechnet.", skipRun: "Zu den Bildern springen",
  },
};
